# A CSI plugin of one role, on the clients named.
variable "job" {
  type = string
}

variable "type" {
  description = "node, controller or monolith"
  type        = string
}

variable "plugin" {
  type = string
}

variable "command" {
  type = string
}

variable "args" {
  type = list(string)
}

variable "clients" {
  description = "Names of the clients as a regular expression."
  type        = string
  default     = ".*"
}

variable "with_config" {
  type    = bool
  default = false
}

job "plugin" {
  id   = var.job
  name = var.job
  type = var.type == "controller" ? "service" : "system"

  constraint {
    attribute = "${node.unique.name}"
    operator  = "regexp"
    value     = var.clients
  }

  group "plugin" {
    count = var.type == "controller" ? 2 : 1

    constraint {
      operator = "distinct_hosts"
      value    = "true"
    }

    task "plugin" {
      driver = "raw_exec"

      config {
        command = var.command
        args    = var.args
      }

      dynamic "template" {
        for_each = var.with_config ? [1] : []
        content {
          destination = "${NOMAD_SECRETS_DIR}/driver-config-file.yaml"
          perms       = "0400"
          data        = "{{ with nomadVar \"nomad/jobs/${var.job}\" }}{{ .driver_config }}{{ end }}"
        }
      }

      csi_plugin {
        id                     = var.plugin
        type                   = var.type
        mount_dir              = "/csi"
        stage_publish_base_dir = "/mnt/nomad/client/csi/${var.type}/${var.plugin}"
      }

      resources {
        cpu    = 50
        memory = 128
      }
    }
  }
}
