# Watches for lost clients, and has their jobs started elsewhere once EC2 says that they cannot write any more.
# It calls Nomad by its own identity: nomad acl policy apply -namespace NS -job ID NAME nomad_stateful/program/failover-policy.hcl
# Run it by hand with: nomad job run -var-file=VARS jobs/failover.nomad.hcl

variable "job" {
  description = "Job id and where the job may run."
  type = object({
    id          = string
    namespace   = string
    datacenters = list(string)
    node_pool   = string
  })
}

variable "volumes" {
  description = "Ids of the registered volumes whose jobs are watched."
  type        = list(string)
}

variable "aws" {
  description = "Region and account of the EBS volumes; empty is AWS's own configuration, and any account."
  type = object({
    region     = string
    account_id = string
  })
}

variable "watch" {
  description = "Instances, each on another client, and whether one that may still write is stopped."
  type = object({
    count = number
    fence = bool
  })
}

variable "task" {
  description = "How the agent runs in its image."
  type = object({
    image      = string
    cpu_mhz    = number
    memory_mib = number
  })
}

variable "health" {
  description = "Until when an allocation has to be healthy, and the deployment has to make progress."
  type = object({
    deadline          = string
    progress_deadline = string
  })
}

locals {
  arguments = concat(
    ["watch", "--region=${var.aws.region}", "--account=${var.aws.account_id}"],
    [for id in var.volumes : "--volume=${var.job.namespace}/${id}"],
    var.watch.fence ? ["--fence"] : [],
    ["--token-file=${NOMAD_SECRETS_DIR}/nomad_token"],
  )
}

job "failover" {
  id          = var.job.id
  name        = var.job.id
  type        = "service"
  namespace   = var.job.namespace
  datacenters = var.job.datacenters
  node_pool   = var.job.node_pool

  ui {
    description = "Starts the jobs of lost clients elsewhere."
  }

  constraint {
    distinct_hosts = true
  }

  update {
    max_parallel      = 1
    health_check      = "task_states"
    min_healthy_time  = "5s"
    healthy_deadline  = var.health.deadline
    progress_deadline = var.health.progress_deadline
  }

  group "failover" {
    count = var.watch.count

    # It ends where Nomad or EC2 refuses it something, and tries again.
    restart {
      attempts = 10
      interval = "5m"
      delay    = "5s"
      mode     = "delay"
    }

    task "failover" {
      driver = "docker"

      config {
        image           = var.task.image
        args            = local.arguments
        readonly_rootfs = true
        cap_drop        = ["all"]
        security_opt    = ["no-new-privileges"]
      }

      # The agent's API within the task: no address, no certificates.
      env {
        NOMAD_ADDR       = "unix://${NOMAD_SECRETS_DIR}/api.sock"
        PYTHONUNBUFFERED = "1"
      }

      # In memory, readable by this task alone; a variable of the environment is in `docker inspect` too.
      identity {
        file = true
      }

      resources {
        cpu    = var.task.cpu_mhz
        memory = var.task.memory_mib
      }
    }
  }
}
