# Any program on CSI volumes.
# Run it by hand with: nomad job run -var-file=VARS jobs/container.nomad.hcl

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

variable "instances" {
  description = "How many instances run; canaries run beside the old ones, which only a shared volume allows."
  type = object({
    count    = number
    canaries = number
  })
}

variable "volumes" {
  description = "The registered volumes; with per_alloc the instance i has the volume SOURCE[i]. releases name the gates that guard them, so that the job follows when one is replaced."
  type = list(object({
    name            = string
    source          = string
    access_mode     = string
    attachment_mode = string
    read_only       = bool
    per_alloc       = bool
    mount_path      = string
    releases        = list(string)
  }))
}

variable "task" {
  description = "How the program runs: docker uses image and, where it is set, command; exec uses command. An empty user leaves it to the task driver."
  type = object({
    driver       = string
    image        = string
    command      = string
    args         = list(string)
    env          = map(string)
    user         = string
    kill_signal  = string
    kill_timeout = string
    cpu_mhz      = number
    memory_mib   = number
  })
}

variable "ports" {
  description = "Ports of the client by label: static 0 lets Nomad choose one; to is the port inside a container, 0 for the same."
  type = list(object({
    label  = string
    static = number
    to     = number
  }))
}

variable "files" {
  description = "Files of the task, as Nomad templates; the path starts with local/ or secrets/."
  type = list(object({
    path        = string
    text        = string
    perms       = string
    change_mode = string
  }))
}

variable "services" {
  description = "Service of each instance, at most one: where it is registered and how it is checked (tcp or http)."
  type = list(object({
    provider       = string
    port           = string
    check          = string
    check_path     = string
    check_interval = string
    check_timeout  = string
  }))
}

variable "restart" {
  description = "Restarts on the same client."
  type = object({
    attempts = number
    interval = string
    delay    = string
  })
}

variable "health" {
  description = "How long an allocation may take to be healthy, such as 300s, and the deployment to make progress, which has to be longer."
  type = object({
    deadline          = string
    progress_deadline = string
  })
}

variable "disconnect" {
  description = "How long a client that reaches no server lets it run, such as 2m; empty for as long as it likes."
  type = object({
    stop_on_client_after = string
  })
}

job "container" {
  id          = var.job.id
  name        = var.job.id
  type        = "service"
  namespace   = var.job.namespace
  datacenters = var.job.datacenters
  node_pool   = var.job.node_pool

  ui {
    description = "A program on CSI volumes."
  }

  dynamic "constraint" {
    for_each = var.job.constraints
    content {
      attribute = constraint.value.attribute
      operator  = constraint.value.operator
      value     = constraint.value.value
    }
  }

  update {
    max_parallel      = 1
    canary            = var.instances.canaries
    auto_promote      = var.instances.canaries > 0
    health_check      = length(var.services) == 0 ? "task_states" : "checks"
    min_healthy_time  = "1s"
    healthy_deadline  = var.health.deadline
    progress_deadline = var.health.progress_deadline
  }

  group "container" {
    count = var.instances.count

    meta {
      volume_release = join(" ", flatten([for volume in var.volumes : volume.releases]))
      # A client knows this time of an allocation as it was when it started: a change has to start another.
      stop_on_client_after = var.disconnect.stop_on_client_after
    }

    dynamic "volume" {
      for_each = var.volumes
      labels   = [volume.value.name]
      content {
        type            = "csi"
        source          = volume.value.source
        read_only       = volume.value.read_only
        access_mode     = volume.value.access_mode
        attachment_mode = volume.value.attachment_mode
        per_alloc       = volume.value.per_alloc
      }
    }

    dynamic "network" {
      for_each = length(var.ports) == 0 ? [] : [1]
      content {
        dynamic "port" {
          for_each = var.ports
          labels   = [port.value.label]
          content {
            static = port.value.static
            to     = port.value.to
          }
        }
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
      content {
        stop_on_client_after = var.disconnect.stop_on_client_after
      }
    }

    task "container" {
      driver       = var.task.driver
      user         = var.task.user
      kill_signal  = var.task.kill_signal
      kill_timeout = var.task.kill_timeout

      dynamic "config" {
        for_each = var.task.driver == "docker" ? [1] : []
        content {
          image   = var.task.image
          command = var.task.command
          args    = var.task.args
          ports   = [for port in var.ports : port.label]
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

      dynamic "template" {
        for_each = var.files
        content {
          destination = template.value.path
          perms       = template.value.perms
          change_mode = template.value.change_mode
          data        = template.value.text
        }
      }

      dynamic "volume_mount" {
        for_each = var.volumes
        content {
          volume      = volume_mount.value.name
          destination = volume_mount.value.mount_path
          read_only   = volume_mount.value.read_only
        }
      }

      resources {
        cpu    = var.task.cpu_mhz
        memory = var.task.memory_mib
      }

      dynamic "service" {
        for_each = var.services
        content {
          name     = var.job.id
          port     = service.value.port
          provider = service.value.provider

          check {
            type     = service.value.check
            path     = service.value.check_path
            interval = service.value.check_interval
            timeout  = service.value.check_timeout
          }
        }
      }
    }
  }
}
