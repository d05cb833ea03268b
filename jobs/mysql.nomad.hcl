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
  description = "How the server runs: docker uses image, exec uses command; an empty user leaves it to the task driver."
  type = object({
    driver       = string
    image        = string
    command      = string
    args         = list(string)
    user         = string
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

job "mysql" {
  id          = var.job.id
  name        = var.job.id
  type        = "service"
  namespace   = var.job.namespace
  datacenters = var.job.datacenters
  node_pool   = var.job.node_pool

  # No canary: the volume has a single writer, so a second copy could never start.
  update {
    max_parallel      = 1
    canary            = 0
    health_check      = "checks"
    min_healthy_time  = "1s"
    healthy_deadline  = "4m"
    progress_deadline = "5m"
  }

  group "mysql" {
    count = 1

    meta {
      volume_release = var.volume.release
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

    task "mysql" {
      driver       = var.task.driver
      user         = var.task.user
      kill_signal  = "SIGTERM"
      kill_timeout = var.task.kill_timeout

      dynamic "config" {
        for_each = var.task.driver == "docker" ? [1] : []
        content {
          image = var.task.image
          args  = concat(var.task.args, ["--port=${NOMAD_PORT_db}"])
          ports = ["db"]
        }
      }

      dynamic "config" {
        for_each = var.task.driver == "docker" ? [] : [1]
        content {
          command = var.task.command
          args    = concat(var.task.args, ["--port=${NOMAD_PORT_db}"])
        }
      }

      env {
        MYSQL_ROOT_PASSWORD_FILE = "${NOMAD_SECRETS_DIR}/root-password"
      }

      # The secrets folder is kept in memory. The password is read once, when the data directory is made, so a
      # changed variable needs no restart.
      template {
        destination = "${NOMAD_SECRETS_DIR}/root-password"
        perms       = "0400"
        change_mode = "noop"
        data        = "{{ with nomadVar \"nomad/jobs/${var.job.id}\" }}{{ .root_password }}{{ end }}"
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
  }
}
