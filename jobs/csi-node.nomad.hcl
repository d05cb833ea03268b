# Node plugin of a CSI driver: mounts volumes on the client it runs on.
# Follows https://developer.hashicorp.com/nomad/docs/job-specification/csi_plugin.
# Run it by hand with: nomad job run -var-file=VARS jobs/csi-node.nomad.hcl

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

job "csi-node" {
  id          = var.job.id
  name        = var.job.id
  namespace   = var.job.namespace
  datacenters = var.job.datacenters
  node_pool   = var.job.node_pool

  # A copy on every client; system jobs are drained last, after the tasks that use their volumes.
  type = "system"

  group "node" {
    # Without it the task would be placed and then fail on clients that do not allow privileged containers.
    dynamic "constraint" {
      for_each = var.task.driver == "docker" ? [1] : []
      content {
        attribute = "${attr.driver.docker.privileged.enabled}"
        value     = "true"
      }
    }

    restart {
      attempts = 10
      interval = "5m"
      delay    = "5s"
      mode     = "delay"
    }

    task "plugin" {
      driver = var.task.driver

      # Mounts must reach the client's own mount namespace, which only privileged containers may do.
      dynamic "config" {
        for_each = var.task.driver == "docker" ? [1] : []
        content {
          image      = var.task.image
          args       = var.task.args
          privileged = true
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
