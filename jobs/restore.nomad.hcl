# Feeds a dump of dump.nomad.hcl to a database server; nothing runs until it is dispatched.
# Register it by hand with: nomad job run -var-file=VARS jobs/restore.nomad.hcl, and restore with:
# nomad job dispatch -meta dump=NAME ID, where NAME is a file on the volume or latest; with -meta from=s3 it is in S3

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
  description = "The registered volume with the dumps; release names the gate that guards it."
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
  description = "Which database it is, whose scripts are in jobs/DATABASE/, and the account that writes all of it. By ca, an authority's certificate in PEM, clients verify the server; an empty one verifies nothing."
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

variable "s3" {
  description = "Where in S3 the dumps are; an empty bucket means nowhere. image is the agent's."
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
  names   = file("jobs/dumps.sh")
  restore = file("jobs/${var.server.database}/restore.sh")
  fetch_args = [
    "fetch-dump", "--folder=${var.volume.mount_path}", "--bucket=${var.s3.bucket}", "--prefix=${var.s3.prefix}",
  ]
}

job "restore" {
  id          = var.job.id
  name        = var.job.id
  type        = "batch"
  namespace   = var.job.namespace
  datacenters = var.job.datacenters
  node_pool   = var.job.node_pool

  ui {
    description = "Restores a dump when it is dispatched."
  }

  parameterized {
    payload       = "forbidden"
    meta_required = ["dump"]
    meta_optional = ["from"]
  }

  group "restore" {
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

    restart {
      attempts = 0
      mode     = "fail"
    }

    reschedule {
      attempts  = 0
      unlimited = false
    }

    dynamic "task" {
      for_each = var.s3.bucket == "" ? [] : [1]
      labels   = ["fetch"]
      content {
        driver = "docker"
        user   = can(regex("^[0-9]", var.task.user)) ? var.task.user : "root"

        lifecycle {
          hook    = "prestart"
          sidecar = false
        }

        config {
          image           = var.s3.image
          args            = local.fetch_args
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

    task "restore" {
      driver = "docker"
      user   = var.task.user

      config {
        image = var.task.image
        args  = ["sh", "${NOMAD_TASK_DIR}/restore.sh"]
      }

      env = merge(var.client.env, { DUMPS = var.volume.mount_path })

      template {
        destination = "local/restore.sh"
        perms       = "0755"
        change_mode = "noop"
        data        = "${local.names}${local.restore}"
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
  }
}
