# Controller plugin of a CSI driver: attaches and detaches volumes through the storage provider's API.
# Follows https://developer.hashicorp.com/nomad/docs/job-specification/csi_plugin.
# Run it by hand with: nomad job run -var-file=VARS jobs/csi-controller.nomad.hcl

variable "job" {
  description = "Job id and where the job may run."
  type = object({
    id          = string
    namespace   = string
    datacenters = list(string)
    node_pool   = string
  })
}

variable "plugin" {
  description = "csi_plugin block; an empty stage_publish_base_dir leaves it to Nomad."
  type = object({
    id                     = string
    type                   = string
    mount_dir              = string
    stage_publish_base_dir = string
    health_timeout         = string
  })
}

variable "task" {
  description = "How the driver runs: docker uses image, raw_exec uses command."
  type = object({
    driver     = string
    image      = string
    command    = string
    args       = list(string)
    env        = map(string)
    cpu_mhz    = number
    memory_mib = number
  })
}

variable "count" {
  description = "Number of controllers, each on a client of its own."
  type        = number
}

job "csi-controller" {
  id          = var.job.id
  name        = var.job.id
  type        = "service"
  namespace   = var.job.namespace
  datacenters = var.job.datacenters
  node_pool   = var.job.node_pool

  group "controller" {
    count = var.count

    # Two controllers on one client would share a socket path, and only the newest would be used.
    constraint {
      operator = "distinct_hosts"
      value    = "true"
    }

    spread {
      attribute = "${node.unique.id}"
    }

    # A plugin must come back: without it volumes can be neither attached nor released.
    restart {
      attempts = 10
      interval = "5m"
      delay    = "5s"
      mode     = "delay"
    }

    task "plugin" {
      driver = var.task.driver

      # Controllers call an API only, so they need no privileges.
      dynamic "config" {
        for_each = var.task.driver == "docker" ? [1] : []
        content {
          image = var.task.image
          args  = var.task.args
        }
      }

      dynamic "config" {
        for_each = var.task.driver == "docker" ? [] : [1]
        content {
          command = var.task.command
          args    = var.task.args
        }
      }

      env = var.task.env

      csi_plugin {
        id                     = var.plugin.id
        type                   = var.plugin.type
        mount_dir              = var.plugin.mount_dir
        stage_publish_base_dir = var.plugin.stage_publish_base_dir
        health_timeout         = var.plugin.health_timeout
      }

      resources {
        cpu    = var.task.cpu_mhz
        memory = var.task.memory_mib
      }
    }
  }
}
