# Feeds a dump that mysql-backup made to a MySQL server; nothing runs until it is dispatched.
# Register it by hand with: nomad job run -var-file=VARS jobs/mysql-restore.nomad.hcl, and restore with:
# nomad job dispatch -meta dump=NAME ID, where NAME is a file on the volume or latest; with -meta from=s3 it is in S3

variable "job" {
  description = "Job id and where the job may run. The id names the variable nomad/jobs/ID with the account's password too."
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
  description = "The service of the server, where it is registered, and the account that writes every database; tls is off, preferred or required. By ca, an authority's certificate in PEM, clients verify it; an empty one verifies nothing."
  type = object({
    service  = string
    provider = string
    account  = string
    tls      = string
    ca       = string
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
  names   = file("jobs/mysql/dumps.sh")
  restore = file("jobs/mysql/restore.sh")
  lookup  = var.server.provider == "consul" ? "service" : "nomadService"
  # Without encryption MySQL wants its public key for the login.
  tls = var.server.tls == "off" ? "--get-server-public-key" : var.server.ca == "" ? "--ssl-mode=REQUIRED" : "--ssl-mode=VERIFY_CA"
  fetch_args = [
    "fetch-dump", "--folder=${var.volume.mount_path}", "--bucket=${var.s3.bucket}", "--prefix=${var.s3.prefix}",
  ]
  authority = var.server.ca == "" ? [] : ["ssl-ca = {{ env \"NOMAD_SECRETS_DIR\" }}/ca.pem"]
}

job "mysql-restore" {
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

      env {
        DUMPS     = var.volume.mount_path
        TLS_MYSQL = local.tls
      }

      template {
        destination = "local/restore.sh"
        perms       = "0755"
        change_mode = "noop"
        data        = "${local.names}${local.restore}"
      }

      template {
        destination = "${NOMAD_SECRETS_DIR}/client.cnf"
        perms       = "0400"
        change_mode = "noop"
        data = join("\n", concat(["[client]", "user = ${var.server.account}"], local.authority, [
          "{{ with ${local.lookup} \"${var.server.service}\" }}{{ with index . 0 }}host = {{ .Address }}",
          "port = {{ .Port }}{{ end }}{{ end }}",
          "password = {{ with nomadVar \"nomad/jobs/${var.job.id}\" }}{{ .password }}{{ end }}",
        ], [""]))
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
