# Tasks that run a script beside a volume at /data, each on a client of its own.
variable "job" {
  type = string
}

variable "volume" {
  type = string
}

variable "access_mode" {
  type = string
}

variable "script" {
  type = string
}

variable "count" {
  type = number
}

variable "clients" {
  type    = string
  default = ".*"
}

variable "mount_flags" {
  type    = list(string)
  default = []
}

job "consumer" {
  id   = var.job
  name = var.job

  constraint {
    attribute = "${node.unique.name}"
    operator  = "regexp"
    value     = var.clients
  }

  group "consumer" {
    count = var.count

    constraint {
      operator = "distinct_hosts"
      value    = "true"
    }

    volume "data" {
      type            = "csi"
      source          = var.volume
      access_mode     = var.access_mode
      attachment_mode = "file-system"

      mount_options {
        mount_flags = var.mount_flags
      }
    }

    restart {
      attempts = 0
      mode     = "fail"
    }

    task "consumer" {
      driver       = "docker"
      kill_timeout = "1s"

      config {
        image   = "busybox:1"
        command = "/bin/sh"
        args    = ["-c", var.script]
      }

      volume_mount {
        volume      = "data"
        destination = "/data"
      }

      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
