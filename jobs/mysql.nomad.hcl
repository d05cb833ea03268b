# MySQL server with its data on a CSI volume.
# Follows https://developer.hashicorp.com/nomad/tutorials/archive/stateful-workloads-csi-volumes; the password comes from a
# Nomad variable instead of the job file.
# Run it by hand with: nomad job run -var-file=VARS jobs/mysql.nomad.hcl

variable "job" {
  description = "Job id and where the job may run. The id names the service too, and the variable nomad/jobs/ID with the password."
  type = object({
    id          = string
    namespace   = string
    datacenters = list(string)
    node_pool   = string
  })
}

variable "volume" {
  description = "The registered volume; release names the gate that guards it, so that the job follows when it is replaced."
  type = object({
    id              = string
    access_mode     = string
    attachment_mode = string
    mount_path      = string
    release         = string
  })
}

variable "task" {
  description = "How the server runs: docker uses image; command is the image's entrypoint, or with exec a program like it; an empty user leaves it to the task driver. The server drops to uid, which alone may read its secrets."
  type = object({
    driver       = string
    image        = string
    command      = string
    args         = list(string)
    user         = string
    uid          = number
    kill_timeout = string
    cpu_mhz      = number
    memory_mib   = number
  })
}

variable "port" {
  description = "Port on the client; 0 lets Nomad choose one."
  type        = number
}

variable "service" {
  description = "Where the service is registered, and its check."
  type = object({
    provider       = string
    check_interval = string
    check_timeout  = string
  })
}

variable "restart" {
  description = "Restarts on the same client."
  type = object({
    attempts = number
    interval = string
    delay    = string
  })
}

variable "health" {
  description = "How long an allocation may take to be healthy, such as 300s, and the deployment to make progress, which has to be longer."
  type = object({
    deadline          = string
    progress_deadline = string
  })
}

variable "disconnect" {
  description = "How long a client that reaches no server lets it run, such as 2m; empty for as long as it likes."
  type = object({
    stop_on_client_after = string
  })
}

variable "config" {
  description = "Server options by name, read from a file. Values are Nomad templates."
  type        = map(string)
}

variable "init_scripts" {
  description = "SQL by file name (NAME.sql), run in the order of the names when the data directory is made. They are Nomad templates."
  type        = map(string)
}

variable "tls" {
  description = "off, preferred or required. Without certificate the server makes one of its own; otherwise it is given the items tls_certificate, tls_key and, with ca, tls_ca of the variable nomad/jobs/ID."
  type = object({
    mode        = string
    certificate = bool
    ca          = bool
  })
}

variable "databases" {
  description = "Databases that are made when they are missing."
  type        = list(string)
}

variable "accounts" {
  description = "Accounts that are made, or given their password and privileges, each time the server starts; an empty database means all. Their passwords are the items password_NAME of the variable nomad/jobs/ID."
  type = list(object({
    name       = string
    privileges = string
    database   = string
  }))
}

variable "binlogs" {
  description = "Where in S3 the binary logs are copied to, every interval_s seconds; an empty bucket means nowhere. account may RELOAD and is among the accounts. docker runs the AWS CLI of image, exec the client's."
  type = object({
    bucket     = string
    prefix     = string
    region     = string
    endpoint   = string
    image      = string
    memory_mib = number
    account    = string
    interval_s = number
  })
  default = { bucket = "", prefix = "", region = "", endpoint = "", image = "", memory_mib = 64, account = "", interval_s = 30 }
}

locals {
  config_file = "$${NOMAD_TASK_DIR}/my.cnf"
  tls_files = merge(
    var.tls.certificate ? { tls_certificate = "server-cert.pem", tls_key = "server-key.pem" } : {},
    var.tls.certificate && var.tls.ca ? { tls_ca = "ca.pem" } : {},
  )
  # The server takes --defaults-extra-file only before all other options.
  server_args = concat(
    length(var.config) == 0 ? [] : ["--defaults-extra-file=${local.config_file}"],
    var.task.args,
    var.tls.mode == "off" ? ["--tls-version="] : [],
    var.tls.mode == "required" ? ["--require-secure-transport=ON"] : [],
    contains(keys(local.tls_files), "tls_key") ? [
      "--ssl-cert=$${NOMAD_SECRETS_DIR}/server-cert.pem",
      "--ssl-key=$${NOMAD_SECRETS_DIR}/server-key.pem",
    ] : [],
    contains(keys(local.tls_files), "tls_ca") ? ["--ssl-ca=$${NOMAD_SECRETS_DIR}/ca.pem"] : [],
  )
  init_folder = "docker-entrypoint-initdb.d"
  data_dir    = [for one in var.task.args : trimprefix(one, "--datadir=") if trimprefix(one, "--datadir=") != one][0]
  accounts_sql = concat(
    [for name in var.databases : "CREATE DATABASE IF NOT EXISTS `${name}`;"],
    flatten([for account in var.accounts : [
      "CREATE USER IF NOT EXISTS '${account.name}'@'%' IDENTIFIED BY '{{ .password_${account.name} }}';",
      "ALTER USER '${account.name}'@'%' IDENTIFIED BY '{{ .password_${account.name} }}';",
      # In a grant an underscore stands for any letter.
      "GRANT ${account.privileges} ON ${account.database == "" ? "*" : "`${replace(account.database, "_", "\\_")}`"}.* TO '${account.name}'@'%';",
    ]]),
  )
  # The other tasks of the group log in by it: no password of theirs leaves the allocation.
  socket       = "mysql/mysql.sock"
  socket_login = ["protocol = socket", "socket = {{ env \"NOMAD_ALLOC_DIR\" }}/${local.socket}"]
}

job "mysql" {
  id          = var.job.id
  name        = var.job.id
  type        = "service"
  namespace   = var.job.namespace
  datacenters = var.job.datacenters
  node_pool   = var.job.node_pool

  ui {
    description = "MySQL server on a CSI volume."
  }

  # No canary: the volume has a single writer, so a second copy could never start.
  update {
    max_parallel      = 1
    canary            = 0
    health_check      = "checks"
    min_healthy_time  = "1s"
    healthy_deadline  = var.health.deadline
    progress_deadline = var.health.progress_deadline
  }

  group "mysql" {
    count = 1

    meta {
      volume_release = var.volume.release
      # A client knows this time of an allocation as it was when it started: a change has to start another.
      stop_on_client_after = var.disconnect.stop_on_client_after
    }

    volume "data" {
      type            = "csi"
      source          = var.volume.id
      read_only       = false
      access_mode     = var.volume.access_mode
      attachment_mode = var.volume.attachment_mode
    }

    network {
      port "db" {
        static = var.port
        to     = var.task.driver == "docker" ? 3306 : 0
      }
    }

    restart {
      attempts = var.restart.attempts
      interval = var.restart.interval
      delay    = var.restart.delay
      mode     = "delay"
    }

    # A client that is cut off stops its allocations by itself and unmounts. Nomad waits that long before it starts others.
    dynamic "disconnect" {
      for_each = var.disconnect.stop_on_client_after == "" ? [] : [1]
      content {
        stop_on_client_after = var.disconnect.stop_on_client_after
      }
    }

    task "mysql" {
      driver = var.task.driver
      user   = var.task.user
      # Docker sends SIGTERM by itself. Told to, Nomad fails on a container that a reboot has ended, and its claim stays.
      kill_signal  = var.task.driver == "docker" ? "" : "SIGTERM"
      kill_timeout = var.task.kill_timeout

      dynamic "config" {
        for_each = var.task.driver == "docker" ? [1] : []
        content {
          image = var.task.image
          # The image's entrypoint runs a command that is no server as it is.
          command = "sh"
          args    = concat(["${NOMAD_TASK_DIR}/start.sh"], local.server_args, ["--port=${NOMAD_PORT_db}"])
          ports   = ["db"]
          mount = [for folder in length(var.init_scripts) == 0 ? [] : [local.init_folder] : {
            type     = "bind"
            source   = "local/${folder}"
            target   = "/${folder}"
            readonly = true
          }]
        }
      }

      dynamic "config" {
        for_each = var.task.driver == "docker" ? [] : [1]
        content {
          command = "/bin/sh"
          args    = concat(["${NOMAD_TASK_DIR}/start.sh"], local.server_args, ["--port=${NOMAD_PORT_db}"])
        }
      }

      env {
        MYSQL_ROOT_PASSWORD_FILE = "${NOMAD_SECRETS_DIR}/root-password"
        START_ENTRYPOINT         = var.task.command
        START_UID                = var.task.uid
        START_SOCKET             = "${NOMAD_ALLOC_DIR}/${local.socket}"
        START_NEEDS_GTIDS        = var.binlogs.bucket == "" ? "" : "yes"
      }

      # An entrypoint takes a data directory for whole as soon as it has the folder mysql, also where its first start was cut
      # off. So the first start happens in a folder inside of the data directory, without network, and what it made is moved
      # up when the entrypoint hands over to the server: the folder mysql last, by one rename. What was not moved up has
      # served nobody, and is made again.
      template {
        destination = "local/start.sh"
        perms       = "0755"
        change_mode = "noop"
        data        = <<-SCRIPT
          set -eu
          say() { echo "mysql: $*" >&2; }
          fail() { say "$@"; exit 1; }

          datadir=
          for argument in "$@"; do
            case "$argument" in --datadir=*) datadir=$${argument#--datadir=} ;; esac
          done
          [ -n "$datadir" ] || fail "--datadir is missing"
          making=$datadir/first-start
          command -v "$START_ENTRYPOINT" >/dev/null ||
            fail "there is no $START_ENTRYPOINT here: set mysql.command to the entrypoint"
          server=$(command -v mysqld || command -v mariadbd) || fail "there is no mysqld and no mariadbd here"
          [ -z "$${START_NEEDS_GTIDS:-}" ] || case "$("$server" --version)" in
            *MariaDB*) fail "this is MariaDB, and mysql.pointInTime is for MySQL: remove it, or run an image of MySQL" ;;
          esac

          # Of two versions as 9.7.4 the first is older than a server may be for the second's files: a lower series, or a lower
          # patch of a series without long-term support.
          too_old() {
            [ "$1" != "$2" ] && [ "$(printf '%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ] || return 1
            [ "$${1%.*}" != "$${2%.*}" ] || case "$1" in 8.4.* | 9.7.*) return 1 ;; esac
          }

          check_version() {
            for file in mysql_upgrade_history mysql_upgrade_info mariadb_upgrade_info; do
              [ ! -f "$datadir/$file" ] || written=$(grep -Eo '[0-9]+[.][0-9]+[.][0-9]+' "$datadir/$file" | tail -n 1)
            done
            runs=$("$server" --version | grep -Eo '[0-9]+[.][0-9]+[.][0-9]+' | head -n 1)
            [ -z "$${written:-}" ] || [ -z "$runs" ] || ! too_old "$runs" "$written" ||
              fail "$datadir was written by version $written, which $runs cannot read: run $written or newer again." \
                "To go back, dump with that, and restore into a server of $runs on a new volume."
          }

          folder=$${START_SOCKET%/*}
          mkdir -p "$folder"
          chmod 755 "$folder"
          [ "$(id -u)" != 0 ] || chown "$START_UID" "$folder"
          # Of a server that was killed; its process id may be another program's in this container.
          rm -f "$START_SOCKET" "$START_SOCKET.lock"

          if [ -d "$datadir/mysql" ]; then
            [ ! -d "$making" ] || rmdir "$making"
            check_version
            exec "$START_ENTRYPOINT" "$@" --socket="$START_SOCKET" --init-file="$NOMAD_SECRETS_DIR/root-password.sql"
          fi

          if [ -d "$making" ]; then
            say "the first start did not come to its end (its messages are above, or in the allocation before):" \
              "what it made in $datadir is removed, and it begins again"
            find "$datadir" -mindepth 1 -maxdepth 1 ! -path "$making" -exec rm -rf -- {} +
            rm -rf -- "$making"
          elif [ -d "$datadir" ] && [ -n "$(find "$datadir" -mindepth 1 -maxdepth 1 ! -name lost+found)" ]; then
            fail "$datadir holds files but no database, as after a first start that was cut off in an earlier release." \
              "Set mysql.dataDir to a new folder of the volume, such as $datadir-2, or look into the files and move them away."
          fi
          mkdir -p "$making"
          [ "$(id -u)" != 0 ] || chown "$START_UID" "$datadir" "$making"

          shims=$NOMAD_TASK_DIR/first-start
          mkdir -p "$shims"
          for name in mysqld mariadbd; do
            ! command -v "$name" >/dev/null || cp "$NOMAD_TASK_DIR/server.sh" "$shims/$name"
          done
          export START_MAKING="$making" START_PATH="$PATH" PATH="$shims:$PATH"
          # Nobody else may log in before its end, by a socket neither.
          exec "$START_ENTRYPOINT" "$@" --socket=/tmp/first-start.sock --skip-networking --datadir="$making"
        SCRIPT
      }

      # Stands for the server while the entrypoint works on a first start: at its end it runs the server without the options
      # that start.sh added, by the socket that the other tasks know.
      template {
        destination = "local/server.sh"
        perms       = "0755"
        change_mode = "noop"
        data        = <<-SCRIPT
          #!/bin/sh
          set -eu
          PATH=$START_PATH
          for last in "$@"; do :; done
          [ "$${last:-}" = "--datadir=$START_MAKING" ] || exec "$${0##*/}" "$@"

          datadir=$${START_MAKING%/*}
          sync
          find "$START_MAKING" -mindepth 1 -maxdepth 1 ! -name mysql -exec mv -t "$datadir" -- {} +
          sync
          mv -T "$START_MAKING/mysql" "$datadir/mysql"
          rmdir "$START_MAKING"
          sync
          echo "mysql: the first start is complete" >&2

          kept=$(($# - 3))
          while [ "$kept" -gt 0 ]; do
            set -- "$@" "$1"
            shift
            kept=$((kept - 1))
          done
          shift 3
          exec "$${0##*/}" "$@" --socket="$START_SOCKET"
        SCRIPT
      }

      # The secrets folder is kept in memory. The image reads the password once, when the data directory is made; a
      # later one (a volume restored, or kept by a destroy that stopped) is set by the init file at each later start.
      template {
        destination = "${NOMAD_SECRETS_DIR}/root-password"
        perms       = "0400"
        change_mode = "noop"
        data        = "{{ with nomadVar \"nomad/jobs/${var.job.id}\" }}{{ .root_password }}{{ end }}"
      }

      # Both of the image's accounts of root: by the socket it is root@localhost. Not logged: it would be a transaction of
      # every start. The accounts' are, since later transactions need their databases.
      template {
        destination = "${NOMAD_SECRETS_DIR}/root-password.sql"
        perms       = "0400"
        uid         = var.task.uid
        gid         = var.task.uid
        change_mode = "noop"
        data = join("\n", concat(
          ["SET sql_log_bin = 0;"],
          [for host in ["%", "localhost"] : "ALTER USER IF EXISTS 'root'@'${host}' IDENTIFIED BY '{{ with nomadVar \"nomad/jobs/${var.job.id}\" }}{{ .root_password }}{{ end }}';"],
          [""],
        ))
      }

      dynamic "template" {
        for_each = length(var.config) == 0 ? [] : [1]
        content {
          destination = "local/my.cnf"
          perms       = "0644"
          change_mode = "noop"
          data        = join("\n", concat(["[mysqld]"], [for name, value in var.config : "${name} = ${value}"], [""]))
        }
      }

      # An exec task's root is its own, so the folder can be made where the image has it; a container gets it mounted.
      dynamic "template" {
        for_each = var.init_scripts
        content {
          destination = "${var.task.driver == "docker" ? "local/" : ""}${local.init_folder}/${template.key}"
          perms       = "0644"
          change_mode = "noop"
          data        = template.value
        }
      }

      dynamic "template" {
        for_each = local.tls_files
        content {
          destination = "${NOMAD_SECRETS_DIR}/${template.value}"
          perms       = "0400"
          uid         = var.task.uid
          gid         = var.task.uid
          change_mode = "restart"
          data        = "{{ with nomadVar \"nomad/jobs/${var.job.id}\" }}{{ .${template.key} }}{{ end }}\n"
        }
      }

      volume_mount {
        volume      = "data"
        destination = var.volume.mount_path
        read_only   = false
      }

      resources {
        cpu    = var.task.cpu_mhz
        memory = var.task.memory_mib
      }

      service {
        name     = var.job.id
        port     = "db"
        provider = var.service.provider

        check {
          type     = "tcp"
          interval = var.service.check_interval
          timeout  = var.service.check_timeout
        }
      }
    }

    dynamic "task" {
      for_each = length(local.accounts_sql) == 0 ? [] : [1]
      labels   = ["accounts"]
      content {
        driver = var.task.driver
        user   = var.task.user

        # After the server: the deployment is healthy once the accounts are there.
        lifecycle {
          hook    = "poststart"
          sidecar = false
        }

        dynamic "config" {
          for_each = var.task.driver == "docker" ? [1] : []
          content {
            image = var.task.image
            args  = ["sh", "${NOMAD_TASK_DIR}/accounts.sh"]
          }
        }

        dynamic "config" {
          for_each = var.task.driver == "docker" ? [] : [1]
          content {
            command = "/bin/sh"
            args    = ["${NOMAD_TASK_DIR}/accounts.sh"]
          }
        }

        template {
          destination = "local/accounts.sh"
          perms       = "0755"
          change_mode = "noop"
          data        = <<-SCRIPT
            set -eu
            client=$(command -v mysql || command -v mariadb)
            case $("$client" --version) in *MariaDB*) tls=--skip-ssl ;; *) tls=--ssl-mode=DISABLED ;; esac
            options=--defaults-extra-file=$NOMAD_SECRETS_DIR/client.cnf
            tries=0
            until said=$("$client" "$options" "$tls" --execute 'SELECT 1' 2>&1); do
              tries=$((tries + 1))
              [ "$tries" -lt 180 ] || { echo "the server does not let root in: $said" >&2; exit 1; }
              sleep 1
            done
            "$client" "$options" "$tls" <"$NOMAD_SECRETS_DIR/accounts.sql"
            echo "databases and accounts are as configured"
          SCRIPT
        }

        template {
          destination = "${NOMAD_SECRETS_DIR}/client.cnf"
          perms       = "0400"
          change_mode = "noop"
          data = join("\n", concat(["[client]", "user = root"], local.socket_login, [
            "password = {{ with nomadVar \"nomad/jobs/${var.job.id}\" }}{{ .root_password }}{{ end }}",
          ], [""]))
        }

        template {
          destination = "${NOMAD_SECRETS_DIR}/accounts.sql"
          perms       = "0400"
          change_mode = "noop"
          data        = "{{ with nomadVar \"nomad/jobs/${var.job.id}\" }}${join("\n", local.accounts_sql)}{{ end }}\n"
        }

        resources {
          cpu    = 50
          memory = 64
        }
      }
    }

    # Both go on trying for ever: a server whose logs are not copied serves, and says so in its age (docs/point-in-time.md).
    dynamic "task" {
      for_each = var.binlogs.bucket == "" ? [] : [1]
      labels   = ["binlog-close"]
      content {
        driver = var.task.driver
        user   = var.task.user

        lifecycle {
          hook    = "poststart"
          sidecar = true
        }

        restart {
          attempts = 3
          interval = "1m"
          delay    = "5s"
          mode     = "delay"
        }

        dynamic "config" {
          for_each = var.task.driver == "docker" ? [1] : []
          content {
            image = var.task.image
            args  = ["sh", "${NOMAD_TASK_DIR}/close.sh"]
          }
        }

        dynamic "config" {
          for_each = var.task.driver == "docker" ? [] : [1]
          content {
            command = "/bin/sh"
            args    = ["${NOMAD_TASK_DIR}/close.sh"]
          }
        }

        # Says in the file closed until when every transaction is in a log that is closed, and which server's. What the server
        # runs with is asked each time: SET GLOBAL and SET PERSIST outrank its options.
        template {
          destination = "local/close.sh"
          perms       = "0755"
          change_mode = "noop"
          data        = <<-SCRIPT
            set -u
            closed=$NOMAD_ALLOC_DIR/data/closed
            errors=$NOMAD_TASK_DIR/errors
            options=--defaults-extra-file=$NOMAD_SECRETS_DIR/client.cnf
            sql() { mysql "$options" --ssl-mode=DISABLED --batch --skip-column-names --execute "$1" 2>"$errors"; }
            needed="gtid_mode=ON enforce_gtid_consistency=ON log_bin=ON sync_binlog=1 innodb_flush_log_at_trx_commit=1"
            needed="$needed binlog_format=ROW binlog_error_action=ABORT_SERVER binlog_encryption=OFF"
            state="SELECT CONCAT_WS(' ', @@server_uuid, REPLACE(@@GLOBAL.gtid_executed, CHAR(10), ''));
              SHOW GLOBAL VARIABLES WHERE Variable_name IN ('$(echo "$needed" | sed "s/=[^ ]*//g; s/ /', '/g")')
              AND CONCAT(Variable_name, '=', Value) NOT IN ('$(echo "$needed" | sed "s/ /', '/g")')"
            last=none
            said=
            while :; do
              now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
              why=
              # Transactions after this question, and before the log is closed, are closed once more: that costs an empty log.
              if ! executed=$(sql "$state") || [ -z "$executed" ]; then
                why="the binary log cannot be closed: $(cat "$errors")"
              elif wrong=$(printf '%s\n' "$executed" | sed 1d | tr '\t\n' '= ') && [ -n "$wrong" ]; then
                why="the binary logs do not reach further, since the server runs with $${wrong% } and needs $needed."
                why="$why Set it back (SET GLOBAL; RESET PERSIST where it was persisted), then take a snapshot"
                last=none
              elif [ "$executed" != "$last" ] && ! sql "FLUSH NO_WRITE_TO_BINLOG BINARY LOGS"; then
                why="the binary log cannot be closed: $(cat "$errors")"
              else
                last=$executed
                echo "$now $${executed%% *}" >"$closed.new" && mv "$closed.new" "$closed"
              fi
              [ "$why" = "$said" ] || echo "$${why:-the binary log is closed again}" >&2
              said=$why
              sleep ${var.binlogs.interval_s}
            done
          SCRIPT
        }

        template {
          destination = "${NOMAD_SECRETS_DIR}/client.cnf"
          perms       = "0400"
          change_mode = "noop"
          data = join("\n", concat(["[client]", "user = ${var.binlogs.account}"], local.socket_login, [
            "password = {{ with nomadVar \"nomad/jobs/${var.job.id}\" }}{{ .password_${var.binlogs.account} }}{{ end }}",
          ], [""]))
        }

        resources {
          cpu    = 20
          memory = 64
        }
      }
    }

    dynamic "task" {
      for_each = var.binlogs.bucket == "" ? [] : [1]
      labels   = ["binlog-copy"]
      content {
        driver = var.task.driver
        user   = var.task.driver == "docker" ? "" : var.task.user

        lifecycle {
          hook    = "poststart"
          sidecar = true
        }

        restart {
          attempts = 3
          interval = "1m"
          delay    = "5s"
          mode     = "delay"
        }

        dynamic "config" {
          for_each = var.task.driver == "docker" ? [1] : []
          content {
            image      = var.binlogs.image
            entrypoint = ["sh"]
            args       = ["${NOMAD_TASK_DIR}/copy.sh"]
          }
        }

        dynamic "config" {
          for_each = var.task.driver == "docker" ? [] : [1]
          content {
            command = "/bin/sh"
            args    = ["${NOMAD_TASK_DIR}/copy.sh"]
          }
        }

        env {
          BUCKET                            = var.binlogs.bucket
          PREFIX                            = "${var.binlogs.prefix}binlogs/"
          AWS_REGION                        = var.binlogs.region
          AWS_DEFAULT_REGION                = var.binlogs.region
          AWS_ENDPOINT_URL_S3               = var.binlogs.endpoint
          AWS_PAGER                         = ""
          AWS_RETRY_MODE                    = "standard"
          AWS_MAX_ATTEMPTS                  = "5"
          AWS_METADATA_SERVICE_NUM_ATTEMPTS = "5"
          AWS_METADATA_SERVICE_TIMEOUT      = "5"
          # What put-object takes; a larger log, as one transaction can make it, goes in parts, each of PART_MIB, which lie on
          # the client's disk for a moment.
          LARGEST_PUT = "5368709120"
          PART_MIB    = "64"
        }

        # A log's key begins with the time at which it was begun: after a restore of the volume another log has its name, and the
        # last log before it is shorter than the one that the old server copied. In until are the time up to which S3 has every
        # transaction, whose they are, who wrote it, and the newest log of these: what comes next has to follow that one.
        template {
          destination = "local/copy.sh"
          perms       = "0755"
          change_mode = "noop"
          data        = <<-SCRIPT
            set -u
            umask 077
            [ -n "$AWS_ENDPOINT_URL_S3" ] || unset AWS_ENDPOINT_URL_S3
            command -v aws >/dev/null || { echo "there is no AWS CLI (aws) here" >&2; exit 1; }
            datadir=${local.data_dir}
            closed=$NOMAD_ALLOC_DIR/data/closed
            place=s3://$BUCKET/$PREFIX
            there=$NOMAD_TASK_DIR/there errors=$NOMAD_TASK_DIR/errors seen=$NOMAD_TASK_DIR/seen mine=$NOMAD_TASK_DIR/until
            part=$NOMAD_TASK_DIR/part parts=$NOMAD_TASK_DIR/parts
            said=
            say() { [ "$1" = "$said" ] || echo "$1" >&2; said=$1; }
            s3() { verb=$1; shift; aws s3api "$verb" --bucket "$BUCKET" "$@" 2>"$errors"; }
            is() { grep -qF -e "($1)" "$errors"; }
            until s3 list-objects-v2 --prefix "$PREFIX" --query 'Contents[].[Key,Size]' --output text >"$there.new"; do
              say "$place cannot be listed: $(cat "$errors")"
              sleep 5
            done
            tr '\t' ' ' <"$there.new" >"$there"

            size_of() { s3 head-object --key "$1" --query ContentLength --output text; }
            in_parts() { # in_parts KEY FILE SIZE UPLOAD
              at=0 comma=
              printf '{"Parts":[' >"$parts"
              while [ $((at * PART_MIB * 1048576)) -lt "$3" ]; do
                dd if="$2" of="$part" bs=1048576 skip=$((at * PART_MIB)) count="$PART_MIB" 2>"$errors" || return
                at=$((at + 1))
                made=$(s3 upload-part --key "$1" --upload-id "$4" --part-number $at --body "$part" --checksum-algorithm SHA256 \
                  --query '[ETag, ChecksumSHA256]' --output text | tr '\t' ' ') && [ -n "$made" ] || return
                printf '%s' "$comma{\"PartNumber\":$at,\"ETag\":$${made% *},\"ChecksumSHA256\":\"$${made#* }\"}" >>"$parts"
                comma=,
              done
              printf ']}' >>"$parts"
              # As a file: a command line has no room for a thousand parts.
              s3 complete-multipart-upload --key "$1" --upload-id "$4" --if-none-match '*' --multipart-upload "file://$parts"
            }
            store() { # store KEY FILE SIZE; 2 where S3 has that key. S3 compares the digests that the CLI sends along.
              if [ "$3" -le "$LARGEST_PUT" ]; then
                s3 put-object --key "$1" --body "$2" --checksum-algorithm SHA256 --if-none-match '*' >/dev/null && return
              else
                id=$(s3 create-multipart-upload --key "$1" --checksum-algorithm SHA256 --query UploadId --output text) || return 1
                in_parts "$1" "$2" "$3" "$id" >/dev/null && return
                # Tried again after seconds: what each try sends would be stored, and paid, until the bucket's lifecycle ends it.
                cp "$errors" "$errors.part" && s3 abort-multipart-upload --key "$1" --upload-id "$id"
                mv "$errors.part" "$errors"
              fi
              ! is PreconditionFailed || return 2
              return 1
            }
            is_same() { # is_same KEY FILE: whether S3 has this log there, as after an answer that was lost.
              [ "$(aws s3 cp --only-show-errors "s3://$BUCKET/$1" - 2>"$errors" | sha256sum)" = "$(sha256sum <"$2")" ] && return
              [ -s "$errors" ] || echo "s3://$BUCKET/$1 is not the server's $${2##*/}: somebody else wrote it" >"$errors"
              return 1
            }
            measure() { # measure FILE; sets key and size
              key=$PREFIX$(date -u -d "@$(od -An -tu4 -j4 -N4 "$1" | tr -d ' ')" +%Y%m%dT%H%M%SZ)-$${1##*/} &&
                size=$(stat -c %s "$1")
            }
            copy() { # copy FILE; sets key
              measure "$1" || return
              for key in "$key" "$key-$size"; do
                ! grep -qxF -e "$key $size" "$there" || return 0
                ! grep -qF -e "$key " "$there" || continue
                store "$key" "$1" "$size" && stored=$size
                case $? in
                  0) echo "$${1##*/}: $size bytes are in s3://$BUCKET/$key" ;;
                  2) stored=$(size_of "$key") && { [ "$stored" != "$size" ] || is_same "$key" "$1"; } || return 1 ;;
                  *) return 1 ;;
                esac
                echo "$key $stored" >>"$there"
                [ "$stored" != "$size" ] || return 0
              done
              return 1
            }

            number() { n=$${1##*.}; echo "$${n#"$${n%%[!0]*}"}"; }
            gap() { # Says where logs are neither in S3 nor the server's any more, after the last copied one.
              [ -n "$last" ] && ! printf '%s\n' "$logs" | grep -qxF -e "$last" || return 0
              first=$(printf '%s\n' "$logs" | head -n 1)
              [ "$(number "$first")" != $(($(number "$last") + 1)) ] || return 0
              # RESET BINARY LOGS AND GTIDS begins earlier, unless it is the volume that was restored.
              [ "$(number "$first")" -le "$(number "$last")" ] && measure "$datadir/$first" &&
                grep -qF -e "$key " "$there" || echo "between $last and $first"
            }
            copy_all() { # Copies what is closed; sets last, newest, and lost where a log is.
              logs=$(sed 's|.*/||' "$datadir/binlog.index" 2>"$errors") || return
              [ -n "$logs" ] || { echo "binlog.index is empty" >"$errors"; return 1; }
              found=$(gap)
              lost=$${found:-$lost}
              names=$(printf '%s\n' "$logs" | sed '$d')
              # Those after the last copy; all of them if the server has removed that one. A range of sed has two lines at least.
              ! printf '%s\n' "$names" | grep -qxF -e "$last" || names=$( (echo; echo "$names") | sed "1,\|^$last\$|d")
              for name in $names; do
                if [ -f "$datadir/$name" ]; then
                  copy "$datadir/$name" || return
                  newest=$key
                else
                  # One of its name in S3 may be another server's.
                  lost="at $name, which has no file"
                fi
                last=$name
              done
              [ -n "$newest" ] || { echo "no log is closed yet" >"$errors"; return 1; }
            }

            fetch() { # Fetches until; etag is empty where there is none.
              etag=$(s3 get-object --key "$${PREFIX}until" --query ETag --output text "$seen.new") && mv "$seen.new" "$seen" && return
              etag=
              is NoSuchKey && : >"$seen"
            }
            of() { sed -n "s/^$1 //p" "$seen"; }
            begin() { # Goes on after the logs that until covers, if they are this server's.
              last= newest= lost=
              fetch || return
              [ "$(of server)" = "$server" ] || return 0
              newest=$(of newest)
              : >"$seen"
              last=$${newest##*Z-}
              last=$${last%%-*}
              # Whatever client wrote it: only the name of a log goes into commands.
              case $${last#binlog.} in '' | *[!0-9]*) last= newest= ; return 0 ;; esac
              [ -f "$datadir/$last" ] || return 0
              measure "$datadir/$last"
              grep -qxF -e "$newest $size" "$there" && case $newest in "$key" | "$key-$size") return ;; esac
              last= newest=
            }
            rival() { # Whether another one wrote until, within two minutes.
              writer=$(of writer)
              [ -n "$writer" ] && [ "$writer" != "$NOMAD_ALLOC_ID" ] &&
                [ "$(head -n 1 "$seen")" \> "$(date -u -d "@$(($(date +%s) - 120))" +%Y-%m-%dT%H:%M:%SZ)" ]
            }
            vouch() {
              printf '%s\nserver %s\nwriter %s\nnewest %s\n' "$now" "$server" "$NOMAD_ALLOC_ID" "$newest" >"$mine"
              if [ -n "$etag" ]; then set -- --if-match "$etag"; else set -- --if-none-match '*'; fi
              written=$(s3 put-object --key "$${PREFIX}until" --body "$mine" "$@" --query ETag --output text) && etag=$written && return
              # What was written without an answer is ours; after another's, or a removal, the next try goes on from that.
              { is PreconditionFailed || is NoSuchKey; } && cp "$errors" "$errors.put" && fetch &&
                { [ "$(cat "$seen")" = "$(cat "$mine")" ] || ! cp "$errors.put" "$errors"; }
            }

            server=
            handled=
            while :; do
              until [ -s "$closed" ] && [ "$(cat "$closed")" != "$handled" ]; do sleep 1; done
              state=$(cat "$closed")
              now=$${state% *}
              [ -n "$server" ] || { server=$${state#* }; begin || server=; }
              if [ -z "$server" ] || ! copy_all || { { [ -n "$lost" ] || rival; } && ! fetch; }; then
                say "the binary logs cannot be copied to $place; they stay on the volume: $(cat "$errors")"
                sleep 5
              elif [ -n "$lost" ] && [ -n "$etag" ]; then
                handled=$state
                say "binary logs are lost $lost: $${place}until stays. The ones after it are copied; take a snapshot, which these go on from, then remove $${place}until"
              elif rival; then
                handled=$state
                say "$${place}until is written for server $(of server) by allocation $(of writer): this server's logs are copied, but not vouched for until that one stops"
              elif lost= && vouch; then
                handled=$state
                said=
              else
                say "$${place}until cannot be written: $(cat "$errors")"
                sleep 5
              fi
            done
          SCRIPT
        }

        volume_mount {
          volume      = "data"
          destination = var.volume.mount_path
          read_only   = true
        }

        resources {
          cpu    = 50
          memory = var.binlogs.memory_mib
        }
      }
    }
  }
}
