# Prometheus exporter of a database server, in a job of its own: neither it nor a change of it restarts the server.
# Run it by hand in the folder that has jobs/: nomad job run -var-file=VARS jobs/database-metrics.nomad.hcl

variable "job" {
  description = "Job id and where the job may run. The id names the service too, and the variables: nomad/jobs/ID has the account's password and Prometheus' own (web_password), and nomad/jobs/ID/exporter/account, which the task that makes the account alone may read, the superuser's."
  type = object({
    id          = string
    namespace   = string
    datacenters = list(string)
    node_pool   = string
  })
}

variable "server" {
  description = "Which database it is, whose scripts are in jobs/DATABASE/, its service, and the exporter's account. By ca, an authority's certificate in PEM, clients verify it; an empty one verifies nothing."
  type = object({
    database = string
    service  = string
    account  = string
    ca       = string
  })
}

variable "client" {
  description = "The image with the database's client, which makes the account, and what it logs in with: its environment, and files of the secrets folder, as Nomad templates. account.sql makes the account."
  type = object({
    image = string
    env   = map(string)
    files = map(string)
  })
}

variable "exporter" {
  description = "What the exporter has to log in and to serve: arguments, environment, and files of the secrets folder, as Nomad templates."
  type = object({
    args  = list(string)
    env   = map(string)
    files = map(string)
  })
}

variable "task" {
  description = "How the exporter runs in its image. The image's process has uid, which alone may read the password."
  type = object({
    image      = string
    uid        = number
    cpu_mhz    = number
    memory_mib = number
  })
}

variable "service" {
  description = "Port on the client (0 lets Nomad choose one) and where the service is registered."
  type = object({
    port     = number
    provider = string
  })
}

variable "health" {
  description = "How long an allocation may take to be healthy, such as 300s, and the deployment to make progress, which has to be longer."
  type = object({
    deadline          = string
    progress_deadline = string
  })
}

locals {
  how_made = file("jobs/${var.server.database}/exporter-account.sh")
  account  = file("jobs/exporter-account.sh")
}

job "database-metrics" {
  id          = var.job.id
  name        = var.job.id
  type        = "service"
  namespace   = var.job.namespace
  datacenters = var.job.datacenters
  node_pool   = var.job.node_pool

  ui {
    description = "Metrics of a database server, for Prometheus."
  }

  update {
    max_parallel      = 1
    health_check      = "task_states"
    min_healthy_time  = "1s"
    healthy_deadline  = var.health.deadline
    progress_deadline = var.health.progress_deadline
  }

  group "exporter" {
    count = 1

    network {
      port "metrics" {
        static = var.service.port
      }
    }

    restart {
      attempts = 10
      interval = "5m"
      delay    = "5s"
      mode     = "delay"
    }

    # Makes the account as soon as a server answers, and again after each allocation of the server, whose data can be others.
    task "account" {
      driver = "docker"

      lifecycle {
        hook    = "prestart"
        sidecar = true
      }

      config {
        image = var.client.image
        args  = ["sh", "${NOMAD_TASK_DIR}/account.sh"]
      }

      env = merge(var.client.env, { ACCOUNT = var.server.account })

      template {
        destination = "local/account.sh"
        perms       = "0755"
        change_mode = "noop"
        data        = "${local.how_made}${local.account}"
      }

      dynamic "template" {
        for_each = var.client.files
        content {
          destination = "${NOMAD_SECRETS_DIR}/${template.key}"
          perms       = "0400"
          change_mode = "restart"
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

      resources {
        cpu    = 20
        memory = 64
      }
    }

    task "exporter" {
      driver = "docker"

      config {
        image = var.task.image
        args  = var.exporter.args
        ports = ["metrics"]
      }

      env = var.exporter.env

      dynamic "template" {
        for_each = var.exporter.files
        content {
          destination = "${NOMAD_SECRETS_DIR}/${template.key}"
          perms       = "0400"
          uid         = var.task.uid
          gid         = var.task.uid
          change_mode = "restart"
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

      # Whoever may ask it anything can have it log in anywhere (/probe, /metrics?target=). Nomad hashes the password anew
      # at each rendering, and the exporter reads the file at each request.
      template {
        destination = "${NOMAD_SECRETS_DIR}/web.yml"
        perms       = "0400"
        uid         = var.task.uid
        gid         = var.task.uid
        change_mode = "noop"
        data        = "basic_auth_users:\n  prometheus: '{{ with nomadVar \"nomad/jobs/${var.job.id}\" }}{{ sprig_bcrypt .web_password.Value }}{{ end }}'\n"
      }

      resources {
        cpu    = var.task.cpu_mhz
        memory = var.task.memory_mib
      }

      service {
        name     = "${var.server.database}-metrics"
        port     = "metrics"
        provider = var.service.provider
        tags     = ["prometheus", "server=${var.server.service}"]
      }
    }
  }
}
