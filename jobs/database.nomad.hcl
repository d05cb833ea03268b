# Database server with its data on a CSI volume.
# Follows https://developer.hashicorp.com/nomad/tutorials/archive/stateful-workloads-csi-volumes.
# Run it by hand in the folder that has jobs/: nomad job run -var-file=VARS jobs/database.nomad.hcl

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

variable "server" {
  description = "Which database it is, whose scripts are in jobs/DATABASE/, its port in the container, its data directory, its socket in the allocation's folder, and further environment."
  type        = object({ database = string, port = number, data_dir = string, socket = string, env = map(string) })
}

variable "files" {
  description = "Files of the task's folder by name, such as the server's options. They are Nomad templates."
  type        = map(string)
}

variable "secrets" {
  description = "Files of the secrets folder by name, as Nomad templates in which {{ .ITEM }} is an item of the variable nomad/jobs/ID: root_password, or password_NAME of an account."
  type        = map(string)
}

variable "init_scripts" {
  description = "SQL by file name (NAME.sql), run in the order of the names when the data directory is made. They are Nomad templates."
  type        = map(string)
}

variable "tls" {
  description = "With certificate the server is given the items tls_certificate, tls_key and, with ca, tls_ca of the variable nomad/jobs/ID, and args; without it it makes a certificate of its own, where it is to have one."
  type        = object({ certificate = bool, ca = bool, args = list(string) })
}

variable "accounts" {
  description = "What makes databases and accounts each time the server starts (jobs/DATABASE/accounts.sh): its environment, and secrets as the server's; without any nothing is made."
  type        = object({ env = map(string), files = map(string) })
}

variable "binlogs" {
  description = "Where in S3 the server's logs are copied to, every interval_s seconds; an empty bucket means nowhere. client is the secret client.cnf, with which the agent logs in; image is the agent's."
  type        = object({ bucket = string, prefix = string, region = string, endpoint = string, image = string, memory_mib = number, account = string, interval_s = number, client = string })
  default     = { bucket = "", prefix = "", region = "", endpoint = "", image = "", memory_mib = 128, account = "", interval_s = 30, client = "" }
}

variable "group" {
  description = "With a member's name the server is one of a replication group: its id, who begins it, the members and their port, and the agent that starts replication, with its files of the secrets folder. A new certificate is another text: members restart one after the other."
  type = object({ member = string, id = string, first = string, members = list(string), port = number, image = string,
  agent_port = number, memory_mib = number, files = map(string), certificate = string })
  default = { member = "", id = "", first = "", members = [], port = 0, image = "", agent_port = 0, memory_mib = 128, files = {}, certificate = "" }
}

locals {
  secrets = "$${NOMAD_SECRETS_DIR}" # kept in memory
  # Before the items of the job's variable in a template; {{ end }} comes after them.
  items = "{{ with nomadVar \"nomad/jobs/${var.job.id}\" }}"
  tls_files = merge(
    var.tls.certificate ? { tls_certificate = "server-cert.pem", tls_key = "server-key.pem" } : {},
    var.tls.certificate && var.tls.ca ? { tls_ca = "ca.pem" } : {},
  )
  server_args = concat(var.task.args, var.tls.certificate ? var.tls.args : [])
  init_folder = "docker-entrypoint-initdb.d"
  start       = file("jobs/${var.server.database}/start.sh")
  first_start = file("jobs/${var.server.database}/first-start.sh")
  accounts    = file("jobs/${var.server.database}/accounts.sh")
  is_member   = var.group.member != ""
  # A member's address is its client's, which changes when it moves: the parent process keeps /etc/hosts up to date.
  lookup = var.service.provider == "consul" ? "service" : "nomadService"
  any    = var.service.provider == "consul" ? "|any" : ""
  hosts  = join("", [for name in var.group.members : "{{ range ${local.lookup} \"${name}${local.any}\" }}{{ .Address }} ${name}\n{{ end }}" if name != var.group.member])
  server_files = concat(
    [
      # An entrypoint takes a data directory for whole as soon as it has files of the server, also where its first start was
      # cut off. So that happens in another folder, without network, and what it made is moved to its place at the end.
      { path = "local/start.sh", perms = "0755", text = local.start },
      # Stands for the server while the entrypoint works on a first start, at whose end it runs it.
      { path = "local/server.sh", perms = "0755", text = local.first_start },
    ],
    [for name, text in var.files : { path = "local/${name}", perms = "0644", text = text }],
    [for name, text in var.init_scripts : { path = "local/${local.init_folder}/${name}", perms = "0644", text = text }],
    [for name, text in var.secrets : { path = "${local.secrets}/${name}", perms = "0400", uid = var.task.uid, text = "${local.items}${text}{{ end }}" }],
    [for text in local.is_member ? [local.hosts] : [] : { path = "local/hosts", perms = "0644", text = text }],
    [for item, name in local.tls_files : { path = "${local.secrets}/${name}", perms = "0400", uid = var.task.uid, text = "${local.items}{{ .${item} }}{{ end }}\n", change = local.is_member ? "noop" : "restart" }],
  )
}

job "database" {
  id          = var.job.id
  name        = var.job.id
  type        = "service"
  namespace   = var.job.namespace
  datacenters = var.job.datacenters
  node_pool   = var.job.node_pool

  ui { description = "Database server on a CSI volume." }

  # No canary: the volume has a single writer, so a second copy could never start.
  update {
    max_parallel      = 1
    canary            = 0
    health_check      = "checks"
    min_healthy_time  = "1s"
    healthy_deadline  = var.health.deadline
    progress_deadline = var.health.progress_deadline
  }

  dynamic "group" {
    for_each = [var.server.database]
    labels   = [group.value]
    content {
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
          static = local.is_member ? var.group.port : var.service.port
          # Members know each other by one port.
          to = local.is_member ? var.group.port : var.server.port
        }

        dynamic "port" {
          for_each = local.is_member ? ["agent"] : []
          labels   = [port.value]
          content { static = var.group.agent_port }
        }
      }

      # Of the allocation, not of its task: Nomad registers a task's service whenever the task starts, and where no server
      # answers just then it never tries again.
      service {
        name     = var.job.id
        port     = "db"
        provider = var.service.provider

        check {
          type     = local.is_member ? "http" : "tcp"
          path     = local.is_member ? "/healthy" : ""
          port     = local.is_member ? "agent" : ""
          interval = var.service.check_interval
          timeout  = var.service.check_timeout
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

      # A member that is cut off serves nobody, and comes back by itself: the majority is the server's to count. Nomad takes
      # it for lost, and starts another where its volume can be, only after longer than an instance needs to start again.
      dynamic "disconnect" {
        for_each = local.is_member && var.disconnect.stop_on_client_after == "" ? [1] : []
        content {
          lost_after = "5m"
          replace    = false
          reconcile  = "keep_original"
        }
      }

      dynamic "task" {
        for_each = [var.server.database]
        labels   = [task.value]
        content {
          driver = "docker"
          user   = var.task.user
          # No kill_signal: told to send one, Nomad fails on a container that a reboot has ended, and its claim stays. Docker
          # sends the image's own.
          kill_timeout = var.task.kill_timeout

          config {
            image = var.task.image
            # The image's entrypoint runs a command that is no server as it is.
            command  = "sh"
            args     = concat(local.is_member ? ["${NOMAD_TASK_DIR}/member.sh", "sh"] : [], ["${NOMAD_TASK_DIR}/start.sh"], local.server_args)
            hostname = local.is_member ? var.group.member : null
            ports    = ["db"]
            mount = [for folder in length(var.init_scripts) == 0 ? [] : [local.init_folder] : {
              type     = "bind"
              source   = "local/${folder}"
              target   = "/${folder}"
              readonly = true
            }]
            # Docker's 64 MiB are too few for parallel queries.
            shm_size = var.task.memory_mib * 524288
          }

          # The other tasks of the group log in by the socket: no password of theirs leaves the allocation.
          env = merge(var.server.env, local.is_member ? { GROUP_ID = var.group.id, CERTIFICATE = var.group.certificate } : {}, {
            START_ENTRYPOINT = var.task.command
            START_UID        = var.task.uid
            START_SOCKET     = "${NOMAD_ALLOC_DIR}/${var.server.socket}"
          })

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
        }
      }

      dynamic "task" {
        for_each = length(var.accounts.files) == 0 ? [] : [1]
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

          env = var.accounts.env

          template {
            destination = "local/accounts.sh"
            perms       = "0755"
            change_mode = "noop"
            data        = local.accounts
          }

          dynamic "template" {
            for_each = var.accounts.files
            content {
              destination = "${local.secrets}/${template.key}"
              perms       = "0400"
              change_mode = "noop"
              data        = "${local.items}${template.value}{{ end }}"
            }
          }

          resources {
            cpu    = 50
            memory = 64
          }
        }
      }

      # Begins or joins the group after each start, and tells routers what the member is.
      dynamic "task" {
        for_each = local.is_member ? ["group"] : []
        labels   = [task.value]
        content {
          driver = "docker"
          user   = var.task.uid

          lifecycle {
            hook    = "poststart"
            sidecar = true
          }

          config {
            image = var.group.image
            args = [
              "group", "--options=${NOMAD_SECRETS_DIR}/client.cnf", "--replication=${NOMAD_SECRETS_DIR}/replication.cnf",
              "--accounts=${NOMAD_SECRETS_DIR}/accounts.sql", "--hosts=${NOMAD_TASK_DIR}/hosts", "--datadir=${var.server.data_dir}",
              "--group=${var.group.id}", "--member=${var.group.member}", "--first=${var.group.first}",
              "--members=${join(",", [for name in var.group.members : "${name}:${var.group.port}"])}",
              "--ca=${var.tls.ca ? "${NOMAD_SECRETS_DIR}/ca.pem" : ""}", "--listen=0.0.0.0:${NOMAD_PORT_agent}",
              "--has-scripts=${length(var.init_scripts) > 0}",
            ]
            ports           = ["agent"]
            readonly_rootfs = true
            cap_drop        = ["all"]
            security_opt    = ["no-new-privileges"]
          }

          template {
            destination = "local/hosts"
            change_mode = "noop"
            data        = local.hosts
          }

          dynamic "template" {
            for_each = merge(var.group.files, var.tls.ca ? { "ca.pem" = "{{ .tls_ca }}\n" } : {})
            content {
              destination = "${local.secrets}/${template.key}"
              perms       = "0400"
              uid         = var.task.uid
              gid         = var.task.uid
              change_mode = "noop"
              data        = "${local.items}${template.value}{{ end }}"
            }
          }

          volume_mount {
            volume      = "data"
            destination = var.volume.mount_path
            read_only   = true
          }

          resources {
            # More than its looks take: a router that gets no answer for seconds takes the server for lost.
            cpu    = 150
            memory = var.group.memory_mib
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
            args = concat([
              "binlogs", "--datadir=${var.server.data_dir}", "--options=${NOMAD_SECRETS_DIR}/client.cnf",
              "--bucket=${var.binlogs.bucket}", "--prefix=${var.binlogs.prefix}", "--interval=${var.binlogs.interval_s}",
            ], local.is_member ? ["--member=${var.group.member}"] : [])
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
            data        = "${local.items}${var.binlogs.client}{{ end }}"
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

}
