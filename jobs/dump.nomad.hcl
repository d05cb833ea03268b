# Dumps all databases of a server to a CSI volume, periodically.
# Run it by hand in the folder that has jobs/: nomad job run -var-file=VARS jobs/dump.nomad.hcl, and at once, out of turn, with:
# nomad job periodic force ID

variable "job" {
  description = "Job id and where the job may run. The id names the variable nomad/jobs/ID too, which has the account's password."
  type = object({
    id          = string
    namespace   = string
    datacenters = list(string)
    node_pool   = string
  })
}

variable "volume" {
  description = "The registered volume for the dumps; release names the gate that guards it."
  type = object({
    id              = string
    access_mode     = string
    attachment_mode = string
    mount_path      = string
    release         = string
  })
}

variable "task" {
  description = "How the client runs; an empty user is the image's own."
  type = object({
    image      = string
    user       = string
    cpu_mhz    = number
    memory_mib = number
  })
}

variable "server" {
  description = "Which database it is, whose scripts are in jobs/DATABASE/, and the account that reads all of it. By ca, an authority's certificate in PEM, clients verify the server; an empty one verifies nothing."
  type = object({
    database = string
    account  = string
    ca       = string
  })
}

variable "client" {
  description = "What the database's client logs in with: its environment, and files of the secrets folder, as Nomad templates."
  type = object({
    env   = map(string)
    files = map(string)
  })
}

variable "schedule" {
  description = "When to dump, in cron's notation and UTC, and how many dumps to keep."
  type = object({
    cron = string
    keep = number
  })
}

variable "s3" {
  description = "Where in S3 each dump is copied to; an empty bucket means nowhere. image is the agent's."
  type = object({
    bucket     = string
    prefix     = string
    region     = string
    endpoint   = string
    image      = string
    memory_mib = number
  })
  default = { bucket = "", prefix = "", region = "", endpoint = "", image = "", memory_mib = 64 }
}

locals {
  names = file("jobs/dumps.sh")
  dump  = file("jobs/${var.server.database}/dump.sh")
  upload_args = [
    "upload-dumps", "--folder=${var.volume.mount_path}", "--bucket=${var.s3.bucket}", "--prefix=${var.s3.prefix}",
  ]
}

job "dump" {
  id          = var.job.id
  name        = var.job.id
  type        = "batch"
  namespace   = var.job.namespace
  datacenters = var.job.datacenters
  node_pool   = var.job.node_pool

  ui {
    description = "Dumps a database server, periodically."
  }

  periodic {
    crons            = [var.schedule.cron]
    time_zone        = "UTC"
    prohibit_overlap = true
  }

  group "dump" {
    count = 1

    meta {
      volume_release = var.volume.release
    }

    volume "dumps" {
      type            = "csi"
      source          = var.volume.id
      read_only       = false
      access_mode     = var.volume.access_mode
      attachment_mode = var.volume.attachment_mode
    }

    # A failed dump ends its allocation, which lets go of the volume, for a restore for instance. Another allocation tries again
    # for most of a day: meanwhile the run is not dead, so that Nomad does not collect it and it can be seen.
    restart {
      attempts = 0
      mode     = "fail"
    }

    reschedule {
      attempts       = 24
      interval       = "24h"
      delay          = "1m"
      delay_function = "exponential"
      max_delay      = "1h"
      unlimited      = false
    }

    task "dump" {
      driver = "docker"
      user   = var.task.user

      dynamic "lifecycle" {
        for_each = var.s3.bucket == "" ? [] : [1]
        content {
          hook    = "prestart"
          sidecar = false
        }
      }

      config {
        image = var.task.image
        args  = ["sh", "${NOMAD_TASK_DIR}/dump.sh"]
      }

      env = merge(var.client.env, {
        DUMPS   = var.volume.mount_path
        KEEP    = var.schedule.keep
        ACCOUNT = var.server.account
        S3      = var.s3.bucket
      })

      template {
        destination = "local/dump.sh"
        perms       = "0755"
        change_mode = "noop"
        data        = "${local.names}${local.dump}"
      }

      dynamic "template" {
        for_each = var.client.files
        content {
          destination = "${NOMAD_SECRETS_DIR}/${template.key}"
          perms       = "0400"
          change_mode = "noop"
          data        = template.value
        }
      }

      dynamic "template" {
        for_each = var.server.ca == "" ? [] : [1]
        content {
          destination = "${NOMAD_SECRETS_DIR}/ca.pem"
          perms       = "0444"
          change_mode = "noop"
          data        = replace(var.server.ca, "{{", "{{ \"{{\" }}")
        }
      }

      volume_mount {
        volume      = "dumps"
        destination = var.volume.mount_path
        read_only   = false
      }

      resources {
        cpu    = var.task.cpu_mhz
        memory = var.task.memory_mib
      }
    }

    dynamic "task" {
      for_each = var.s3.bucket == "" ? [] : [1]
      labels   = ["upload"]
      content {
        driver = "docker"
        # Who made the dumps.
        user = can(regex("^[0-9]", var.task.user)) ? var.task.user : "root"

        # Of the upload alone. After that the allocation fails, and the next one has another dump only if it is of another run.
        restart {
          attempts = 3
          interval = "30m"
          delay    = "20s"
          mode     = "fail"
        }

        config {
          image           = var.s3.image
          args            = local.upload_args
          readonly_rootfs = true
          cap_drop        = ["all"]
          security_opt    = ["no-new-privileges"]
        }

        env {
          AWS_REGION          = var.s3.region
          AWS_ENDPOINT_URL_S3 = var.s3.endpoint
        }

        volume_mount {
          volume      = "dumps"
          destination = var.volume.mount_path
          read_only   = false
        }

        resources {
          cpu    = var.task.cpu_mhz
          memory = var.s3.memory_mib
        }
      }
    }
  }
}
