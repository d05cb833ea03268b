# MySQL server with its data on a CSI volume.
# Follows https://developer.hashicorp.com/nomad/tutorials/archive/stateful-workloads-csi-volumes.
# Run it by hand in the folder that has jobs/: nomad job run -var-file=VARS jobs/mysql.nomad.hcl

variable "job" {
  description = "Job id and where the job may run. The id names the service too, and the variable nomad/jobs/ID with the password."
  type        = object({ id = string, namespace = string, datacenters = list(string), node_pool = string })
}

variable "volume" {
  description = "The registered volume; release names the gate that guards it, so that the job follows when it is replaced."
  type        = object({ id = string, access_mode = string, attachment_mode = string, mount_path = string, release = string })
}

variable "task" {
  description = "How the server runs: command is the image's entrypoint, and an empty user the image's own. The server drops to uid, which alone may read its secrets."
  type        = object({ image = string, command = string, args = list(string), user = string, uid = number, kill_timeout = string, cpu_mhz = number, memory_mib = number })
}

variable "service" {
  description = "Port on the client (0 lets Nomad choose one), where the service is registered, and its check."
  type        = object({ port = number, provider = string, check_interval = string, check_timeout = string })
}

variable "restart" {
  description = "Restarts on the same client."
  type        = object({ attempts = number, interval = string, delay = string })
}

variable "health" {
  description = "How long an allocation may take to be healthy, such as 300s, and the deployment to make progress, which has to be longer."
  type        = object({ deadline = string, progress_deadline = string })
}

variable "disconnect" {
  description = "How long a client that reaches no server lets it run, such as 2m; empty for as long as it likes."
  type        = object({ stop_on_client_after = string })
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
  type        = object({ mode = string, certificate = bool, ca = bool })
}

variable "databases" {
  description = "Databases that are made when they are missing."
  type        = list(string)
}

variable "accounts" {
  description = "Accounts that are made, or given their password and privileges, each time the server starts; an empty database means all. Their passwords are the items password_NAME of the variable nomad/jobs/ID."
  type        = list(object({ name = string, privileges = string, database = string }))
}

variable "binlogs" {
  description = "Where in S3 the binary logs are copied to, every interval_s seconds; an empty bucket means nowhere. account may RELOAD and is among the accounts. image is the agent's."
  type        = object({ bucket = string, prefix = string, region = string, endpoint = string, image = string, memory_mib = number, account = string, interval_s = number })
  default     = { bucket = "", prefix = "", region = "", endpoint = "", image = "", memory_mib = 128, account = "", interval_s = 30 }
}

locals {
  secrets = "$${NOMAD_SECRETS_DIR}" # kept in memory
  # Before the items of the job's variable in a template; {{ end }} comes after them.
  items         = "{{ with nomadVar \"nomad/jobs/${var.job.id}\" }}"
  root_password = "${local.items}{{ .root_password }}{{ end }}"
  set_password  = join("", [for host in ["%", "localhost"] : "ALTER USER IF EXISTS 'root'@'${host}' IDENTIFIED BY '${local.root_password}';\n"])
  tls_files = merge(
    var.tls.certificate ? { tls_certificate = "server-cert.pem", tls_key = "server-key.pem" } : {},
    var.tls.ca ? { tls_ca = "ca.pem" } : {},
  )
  options = [for name, value in var.config : "${name} = ${value}\n"]
  # The server takes --defaults-extra-file only before all other options.
  server_args = concat(
    length(var.config) == 0 ? [] : ["--defaults-extra-file=$${NOMAD_TASK_DIR}/my.cnf"],
    var.task.args,
    var.tls.mode == "off" ? ["--tls-version="] : [],
    var.tls.mode == "required" ? ["--require-secure-transport=ON"] : [],
    var.tls.certificate ? ["--ssl-cert=${local.secrets}/server-cert.pem", "--ssl-key=${local.secrets}/server-key.pem"] : [],
    var.tls.ca ? ["--ssl-ca=${local.secrets}/ca.pem"] : [],
  )
  init_folder = "docker-entrypoint-initdb.d"
  start       = file("jobs/mysql/start.sh")
  first_start = file("jobs/mysql/first-start.sh")
  accounts    = file("jobs/mysql/accounts.sh")
  server_files = concat(
    [
      # An entrypoint takes a data directory for whole as soon as it has the folder mysql, also where its first start was cut
      # off. So that happens in a folder inside of it, without network, and what it made is moved up when the entrypoint
      # hands over to the server: the folder mysql last, by one rename. What was not moved up is made again.
      { path = "local/start.sh", perms = "0755", text = local.start },
      # Stands for the server while the entrypoint works on a first start: at its end it runs the server without the options
      # that start.sh added, by the socket that the other tasks know.
      { path = "local/server.sh", perms = "0755", text = local.first_start },
      # The image reads the password once, when the data directory is made; a later one (a volume restored, or kept by a
      # destroy that stopped) is set by the init file at each later start.
      { path = "${local.secrets}/root-password", perms = "0400", text = local.root_password },
      # Both of the image's accounts of root: by the socket it is root@localhost. Not logged: it would be a transaction of
      # every start. The accounts' are, since later transactions need their databases.
      { path = "${local.secrets}/root-password.sql", perms = "0400", uid = var.task.uid, text = "SET sql_log_bin = 0;\n${local.set_password}" },
    ],
    length(var.config) == 0 ? [] : [{ path = "local/my.cnf", perms = "0644", text = "[mysqld]\n${join("", local.options)}" }],
    [for name, text in var.init_scripts : { path = "local/${local.init_folder}/${name}", perms = "0644", text = text }],
    [for item, name in local.tls_files : { path = "${local.secrets}/${name}", perms = "0400", uid = var.task.uid, text = "${local.items}{{ .${item} }}{{ end }}\n", change = "restart" }],
  )
  accounts_sql = concat(
    [for name in var.databases : "CREATE DATABASE IF NOT EXISTS `${name}`;"],
    flatten([for account in var.accounts : [
      "CREATE USER IF NOT EXISTS '${account.name}'@'%' IDENTIFIED BY '{{ .password_${account.name} }}';",
      "ALTER USER '${account.name}'@'%' IDENTIFIED BY '{{ .password_${account.name} }}';",
      # In a grant an underscore stands for any letter.
      "GRANT ${account.privileges} ON ${account.database == "" ? "*" : "`${replace(account.database, "_", "\\_")}`"}.* TO '${account.name}'@'%';",
    ]]),
  )
  data_dir = [for one in var.task.args : trimprefix(one, "--datadir=") if trimprefix(one, "--datadir=") != one][0]
  # The other tasks of the group log in by it: no password of theirs leaves the allocation.
  socket       = "mysql/mysql.sock"
  socket_login = "protocol = socket\nsocket = {{ env \"NOMAD_ALLOC_DIR\" }}/${local.socket}"
}

job "mysql" {
  id          = var.job.id
  name        = var.job.id
  type        = "service"
  namespace   = var.job.namespace
  datacenters = var.job.datacenters
  node_pool   = var.job.node_pool

  ui { description = "MySQL server on a CSI volume." }

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
        static = var.service.port
        to     = 3306
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
      content { stop_on_client_after = var.disconnect.stop_on_client_after }
    }

    task "mysql" {
      driver = "docker"
      user   = var.task.user
      # No kill_signal: told to send one, Nomad fails on a container that a reboot has ended, and its claim stays.
      kill_timeout = var.task.kill_timeout

      config {
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

      env {
        MYSQL_ROOT_PASSWORD_FILE = "${NOMAD_SECRETS_DIR}/root-password"
        START_ENTRYPOINT         = var.task.command
        START_UID                = var.task.uid
        START_SOCKET             = "${NOMAD_ALLOC_DIR}/${local.socket}"
      }

      dynamic "template" {
        for_each = local.server_files
        content {
          destination = template.value.path
          perms       = template.value.perms
          uid         = try(template.value.uid, null)
          gid         = try(template.value.uid, null)
          change_mode = try(template.value.change, "noop")
          data        = template.value.text
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
        driver = "docker"
        user   = var.task.user

        # After the server: the deployment is healthy once the accounts are there.
        lifecycle {
          hook    = "poststart"
          sidecar = false
        }

        config {
          image = var.task.image
          args  = ["sh", "${NOMAD_TASK_DIR}/accounts.sh"]
        }

        dynamic "template" {
          for_each = [
            { path = "local/accounts.sh", perms = "0755", text = local.accounts },
            { path = "${local.secrets}/client.cnf", perms = "0400", text = "[client]\nuser = root\n${local.socket_login}\npassword = ${local.root_password}\n" },
            { path = "${local.secrets}/accounts.sql", perms = "0400", text = "${local.items}${join("\n", local.accounts_sql)}{{ end }}\n" },
          ]
          content {
            destination = template.value.path
            perms       = template.value.perms
            change_mode = "noop"
            data        = template.value.text
          }
        }

        resources {
          cpu    = 50
          memory = 64
        }
      }
    }

    # It goes on trying for ever: a server whose logs are not copied serves, and S3 says how late it is
    # (docs/point-in-time.md). Whose the files are reads them; nobody else in the allocation can.
    dynamic "task" {
      for_each = var.binlogs.bucket == "" ? [] : [1]
      labels   = ["binlogs"]
      content {
        driver = "docker"
        user   = var.task.uid

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

        config {
          image = var.binlogs.image
          args = [
            "binlogs", "--datadir=${local.data_dir}", "--options=${NOMAD_SECRETS_DIR}/client.cnf",
            "--bucket=${var.binlogs.bucket}", "--prefix=${var.binlogs.prefix}", "--interval=${var.binlogs.interval_s}",
          ]
          readonly_rootfs = true
          cap_drop        = ["all"]
          security_opt    = ["no-new-privileges"]
        }

        env {
          AWS_REGION          = var.binlogs.region
          AWS_ENDPOINT_URL_S3 = var.binlogs.endpoint
        }

        template {
          destination = "${NOMAD_SECRETS_DIR}/client.cnf"
          perms       = "0400"
          uid         = var.task.uid
          gid         = var.task.uid
          change_mode = "noop"
          data        = "[client]\nuser = ${var.binlogs.account}\n${local.socket_login}\npassword = ${local.items}{{ .password_${var.binlogs.account} }}{{ end }}\n"
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
