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

variable "image" {
  type = string
}

variable "entrypoint" {
  description = "Empty: the image's own."
  type        = list(string)
  default     = []
}

variable "args" {
  type = list(string)
}

variable "network_mode" {
  type = string
}

variable "ipc_mode" {
  type = string
}

variable "folders" {
  description = "Folders of the client, by their place in the container."
  type        = map(string)
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
      driver = "docker"

      config {
        image        = var.image
        entrypoint   = length(var.entrypoint) == 0 ? null : var.entrypoint
        args         = var.args
        privileged   = true
        network_mode = var.network_mode
        ipc_mode     = var.ipc_mode
        mount = [for inside, outside in var.folders : {
          type         = "bind"
          source       = outside
          target       = inside
          readonly     = false
          bind_options = { propagation = "rshared" }
        }]
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
        id        = var.plugin
        type      = var.type
        mount_dir = "/csi"
      }

      resources {
        cpu    = 50
        memory = 128
      }
    }
  }
}
