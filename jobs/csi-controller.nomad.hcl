# Controller plugin of a CSI driver: attaches and detaches volumes through the storage provider's API.
# Follows https://developer.hashicorp.com/nomad/docs/job-specification/csi_plugin.
# Run it by hand with: nomad job run -var-file=VARS jobs/csi-controller.nomad.hcl

variable "job" {
  description = "Job id and where the job may run; constraints as in a constraint block."
  type = object({
    id          = string
    namespace   = string
    datacenters = list(string)
    node_pool   = string
    constraints = list(object({
      attribute = string
      operator  = string
      value     = string
    }))
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
  description = "How the driver runs in its image; an empty entrypoint leaves it to the image. With config_file, the item driver_config of the variable nomad/jobs/ID is put there."
  type = object({
    image        = string
    entrypoint   = list(string)
    args         = list(string)
    env          = map(string)
    privileged   = bool
    network_mode = string
    ipc_mode     = string
    mounts = list(object({
      source = string
      target = string
    }))
    config_file = string
    cpu_mhz     = number
    memory_mib  = number
  })
}

variable "count" {
  description = "Number of controllers, each on a client of its own."
  type        = number
}

variable "metrics" {
  description = "Where the service csi-driver-metrics is registered, nomad or consul, of a driver whose args have it serve metrics on NOMAD_PORT_metrics; empty: it serves none."
  type = object({
    provider = string
  })
}

job "csi-controller" {
  id          = var.job.id
  name        = var.job.id
  type        = "service"
  namespace   = var.job.namespace
  datacenters = var.job.datacenters
  node_pool   = var.job.node_pool

  ui {
    description = "Controller of a CSI plugin: attaches and detaches its volumes."
  }

  dynamic "constraint" {
    for_each = var.job.constraints
    content {
      attribute = constraint.value.attribute
      operator  = constraint.value.operator
      value     = constraint.value.value
    }
  }

  group "controller" {
    count = var.count

    # Two controllers on one client would share a socket path, and only the newest would be used.
    constraint {
      operator = "distinct_hosts"
      value    = "true"
    }

    # Most controllers only call an API; one that mounts shares to make folders in them needs privileges too.
    dynamic "constraint" {
      for_each = var.task.privileged ? [1] : []
      content {
        attribute = "${attr.driver.docker.privileged.enabled}"
        value     = "true"
      }
    }

    spread {
      attribute = "${node.unique.id}"
    }

    dynamic "network" {
      for_each = var.metrics.provider == "" ? [] : [1]
      content {
        port "metrics" {}
      }
    }

    # A plugin must come back: without it volumes can be neither mounted nor released.
    restart {
      attempts = 10
      interval = "5m"
      delay    = "5s"
      mode     = "delay"
    }

    task "plugin" {
      driver = "docker"

      config {
        image        = var.task.image
        entrypoint   = length(var.task.entrypoint) == 0 ? null : var.task.entrypoint
        args         = var.task.args
        privileged   = var.task.privileged
        network_mode = var.task.network_mode
        ipc_mode     = var.task.ipc_mode
        ports        = var.metrics.provider == "" ? null : ["metrics"]
        mount = [for mount in var.task.mounts : {
          type     = "bind"
          source   = mount.source
          target   = mount.target
          readonly = false
          # Mounts made in there must reach the client, and the other way round.
          bind_options = { propagation = "rshared" }
        }]
      }

      env = var.task.env

      # Without a check: what only Prometheus asks for must not make a plugin unhealthy.
      dynamic "service" {
        for_each = var.metrics.provider == "" ? [] : [1]
        content {
          name     = "csi-driver-metrics"
          port     = "metrics"
          provider = var.metrics.provider
          tags     = ["prometheus", "plugin=${var.plugin.id}", "role=${var.plugin.type}"]
        }
      }

      dynamic "template" {
        for_each = var.task.config_file == "" ? [] : [1]
        content {
          destination = var.task.config_file
          perms       = "0400"
          data        = "{{ with nomadVar \"nomad/jobs/${var.job.id}\" }}{{ .driver_config }}{{ end }}"
        }
      }

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
