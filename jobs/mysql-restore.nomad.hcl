# Feeds a dump that mysql-backup made to a MySQL server; nothing runs until it is dispatched.
# Register it by hand with: nomad job run -var-file=VARS jobs/mysql-restore.nomad.hcl, and restore with:
# nomad job dispatch -meta dump=NAME ID, where NAME is a file on the volume or latest; with -meta from=s3 it is in S3

variable "job" {
  description = "Job id and where the job may run. The id names the variable nomad/jobs/ID with the account's password too."
  type = object({
    id          = string
    namespace   = string
    datacenters = list(string)
    node_pool   = string
  })
}

variable "volume" {
  description = "The registered volume with the dumps; release names the gate that guards it."
  type = object({
    id              = string
    access_mode     = string
    attachment_mode = string
    mount_path      = string
    release         = string
  })
}

variable "task" {
  description = "How the client runs: docker uses image; an empty user leaves it to the task driver."
  type = object({
    driver     = string
    image      = string
    user       = string
    cpu_mhz    = number
    memory_mib = number
  })
}

variable "server" {
  description = "The service of the server, where it is registered, and the account that writes every database; tls is off, preferred or required. By ca, an authority's certificate in PEM, clients verify it; an empty one verifies nothing."
  type = object({
    service  = string
    provider = string
    account  = string
    tls      = string
    ca       = string
  })
}

variable "s3" {
  description = "Where in S3 the dumps are; an empty bucket means nowhere. image has nomad-stateful-agent (docker); with exec the command has to be there."
  type = object({
    bucket     = string
    prefix     = string
    region     = string
    endpoint   = string
    image      = string
    memory_mib = number
  })
  default = { bucket = "", prefix = "", region = "", endpoint = "", image = "", memory_mib = 64 }
}

locals {
  lookup = var.server.provider == "consul" ? "service" : "nomadService"
  # What MariaDB's and MySQL's clients call it. Without encryption MySQL 8 wants its public key for the login. MariaDB's
  # verifies whenever it has an authority.
  tls = {
    mariadb = var.server.tls == "off" ? "--skip-ssl" : "--ssl"
    mysql   = var.server.tls == "off" ? "--get-server-public-key" : var.server.ca == "" ? "--ssl-mode=REQUIRED" : "--ssl-mode=VERIFY_CA"
  }
  fetch_args = [
    "fetch-dump", "--folder=${var.volume.mount_path}", "--bucket=${var.s3.bucket}", "--prefix=${var.s3.prefix}",
  ]
  authority = var.server.ca == "" ? [] : ["ssl-ca = {{ env \"NOMAD_SECRETS_DIR\" }}/ca.pem"]
}

job "mysql-restore" {
  id          = var.job.id
  name        = var.job.id
  type        = "batch"
  namespace   = var.job.namespace
  datacenters = var.job.datacenters
  node_pool   = var.job.node_pool

  ui {
    description = "Restores a dump when it is dispatched."
  }

  parameterized {
    payload       = "forbidden"
    meta_required = ["dump"]
    meta_optional = ["from"]
  }

  group "restore" {
    count = 1

    meta {
      volume_release = var.volume.release
    }

    volume "dumps" {
      type            = "csi"
      source          = var.volume.id
      read_only       = false
      access_mode     = var.volume.access_mode
      attachment_mode = var.volume.attachment_mode
    }

    restart {
      attempts = 0
      mode     = "fail"
    }

    reschedule {
      attempts  = 0
      unlimited = false
    }

    dynamic "task" {
      for_each = var.s3.bucket == "" ? [] : [1]
      labels   = ["fetch"]
      content {
        driver = var.task.driver
        user   = var.task.driver == "docker" && var.task.user == "" ? "root" : var.task.user

        lifecycle {
          hook    = "prestart"
          sidecar = false
        }

        dynamic "config" {
          for_each = var.task.driver == "docker" ? [1] : []
          content {
            image           = var.s3.image
            args            = local.fetch_args
            readonly_rootfs = true
            cap_drop        = ["all"]
            security_opt    = ["no-new-privileges"]
          }
        }

        dynamic "config" {
          for_each = var.task.driver == "docker" ? [] : [1]
          content {
            command = "nomad-stateful-agent"
            args    = local.fetch_args
          }
        }

        env {
          AWS_REGION          = var.s3.region
          AWS_ENDPOINT_URL_S3 = var.s3.endpoint
        }

        volume_mount {
          volume      = "dumps"
          destination = var.volume.mount_path
          read_only   = false
        }

        resources {
          cpu    = var.task.cpu_mhz
          memory = var.s3.memory_mib
        }
      }
    }

    task "restore" {
      driver = var.task.driver
      user   = var.task.user

      dynamic "config" {
        for_each = var.task.driver == "docker" ? [1] : []
        content {
          image = var.task.image
          args  = ["sh", "${NOMAD_TASK_DIR}/restore.sh"]
        }
      }

      dynamic "config" {
        for_each = var.task.driver == "docker" ? [] : [1]
        content {
          command = "/bin/sh"
          args    = ["${NOMAD_TASK_DIR}/restore.sh"]
        }
      }

      env {
        DUMPS       = var.volume.mount_path
        TLS_MARIADB = local.tls.mariadb
        TLS_MYSQL   = local.tls.mysql
      }

      template {
        destination = "local/restore.sh"
        perms       = "0755"
        change_mode = "noop"
        data        = <<-SCRIPT
          set -eu
          options=--defaults-extra-file=$NOMAD_SECRETS_DIR/client.cnf
          grep -q '^host = .' "$NOMAD_SECRETS_DIR/client.cnf" || { echo "no such service is registered now" >&2; exit 1; }
          client=$(command -v mysql || command -v mariadb)
          case $("$client" --version) in *MariaDB*) tls=$TLS_MARIADB ;; *) tls=$TLS_MYSQL ;; esac

          cd "$DUMPS"
          case "$${NOMAD_META_from:-volume}" in
          volume) ;;
          s3)
            # The task before has put the dump there, and nothing else.
            [ -d .fetched ] || { echo "nothing was fetched from S3: mysql.backup.s3 is not set" >&2; exit 1; }
            cd .fetched
            ;;
          *) echo "from is $NOMAD_META_from, and must be volume or s3" >&2; exit 1 ;;
          esac
          name=$NOMAD_META_dump
          # Not one of a later name than now, which a clock that was ahead has given.
          launched=$(printf '%s\n' "$${NOMAD_JOB_ID:-}" | sed -n 's|.*/dispatch-\([0-9][0-9]*\)-.*|\1|p')
          now=$(date -u -d "@$${launched:-$(date +%s)}" +%Y%m%dT%H%M%SZ.sql.gz)
          [ "$name" != latest ] || name=$(ls -1 | grep '^[0-9]*T[0-9]*Z[.]sql[.]gz$' | sort | while read -r one; do
            [ "$one" \> "$now" ] || echo "$one"
          done | tail -n 1)
          case "$name" in
          '' | .* | -* | */*) known=no ;;
          *) [ -f "$name" ] && known=yes || known=no ;;
          esac
          if [ $known = no ]; then
            echo "there is no dump $NOMAD_META_dump; these are there:" $(ls -1) >&2
            exit 1
          fi
          # All of it is read once before the first table is touched. The server of the dump is named above its first rows.
          said=$(gzip -dc "$name" | LC_ALL=C sed -n '1,20{/^-- Server version/p;}; $p')
          case "$(printf '%s\n' "$said" | tail -n 1)" in
          '-- Dump completed'*) ;;
          *) echo "$name is not whole" >&2; exit 1 ;;
          esac
          # A server may not take a dump of a newer series or of the other product to its end, and tables are dropped by then.
          from=$(printf '%s\n' "$said" | sed -n '1s/^-- Server version[[:space:]]*//p')
          ask() { "$client" "$options" "$tls" --batch --skip-column-names --execute "$1"; }
          runs=$(ask 'SELECT VERSION()')
          tables=$(ask "SELECT COUNT(*) FROM information_schema.tables WHERE table_type = 'BASE TABLE' AND table_schema NOT IN
            ('mysql', 'sys', 'information_schema', 'performance_schema')")
          series() { printf '%s\n' "$1" | sed -n 's/^\([0-9]*[.][0-9]*\).*/\1/p'; }
          newer=$(printf '%s\n' "$(series "$runs")" "$(series "$from")" | sort -V | tail -n 1)
          case "$from" in *MariaDB*) product=MariaDB ;; *) product=MySQL ;; esac
          case "$runs" in *MariaDB*) other=MySQL ;; *) other=MariaDB ;; esac
          [ -z "$from" ] || [ "$tables" = 0 ] || { [ "$newer" = "$(series "$runs")" ] && [ $product != $other ]; } || {
            echo "$name is from $product $from, and the server is of version $runs: nothing is changed." \
              "Restore it into $product $(series "$from") or newer, or into a server that has no tables" >&2
            exit 1
          }
          # What mysqldump says about GTIDs by itself, in a dump of other making, is true of the server it was taken from alone.
          { gzip -dc "$name" || echo "$name cannot be read;"; } |
            sed '1,/^-- Current Database/{/^SET @@GLOBAL[.]GTID_PURGED=/,/;$/d;/^SET @@SESSION[.]SQL_LOG_BIN= *0;$/d}' |
            # A dump is statements: a line with a command of the client's, such as one for the shell, is an error.
            "$client" "$options" "$tls" --binary-mode
          echo "$name is restored"
          rm -rf "$DUMPS/.fetched"
        SCRIPT
      }

      template {
        destination = "${NOMAD_SECRETS_DIR}/client.cnf"
        perms       = "0400"
        change_mode = "noop"
        data = join("\n", concat(["[client]", "user = ${var.server.account}"], local.authority, [
          "{{ with ${local.lookup} \"${var.server.service}\" }}{{ with index . 0 }}host = {{ .Address }}",
          "port = {{ .Port }}{{ end }}{{ end }}",
          "password = {{ with nomadVar \"nomad/jobs/${var.job.id}\" }}{{ .password }}{{ end }}",
        ], [""]))
      }

      dynamic "template" {
        for_each = var.server.ca == "" ? [] : [1]
        content {
          destination = "${NOMAD_SECRETS_DIR}/ca.pem"
          perms       = "0444"
          change_mode = "noop"
          data        = replace(var.server.ca, "{{", "{{ \"{{\" }}")
        }
      }

      volume_mount {
        volume      = "dumps"
        destination = var.volume.mount_path
        read_only   = false
      }

      resources {
        cpu    = var.task.cpu_mhz
        memory = var.task.memory_mib
      }
    }
  }
}
