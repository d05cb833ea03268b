# Prometheus exporter of a MySQL server, in a job of its own: neither it nor a change of it restarts the server.
# Follows https://github.com/prometheus/mysqld_exporter.
# Run it by hand in the folder that has jobs/: nomad job run -var-file=VARS jobs/mysql-metrics.nomad.hcl

variable "job" {
  description = "Job id and where the job may run. The id names the service too, and the variables: nomad/jobs/ID has the account's password and Prometheus' own (web_password), and nomad/jobs/ID/exporter/account, which the task that makes the account alone may read, root's."
  type = object({
    id          = string
    namespace   = string
    datacenters = list(string)
    node_pool   = string
  })
}

variable "server" {
  description = "The service of the server, where it is registered, and the exporter's account; tls is off, preferred or required. By ca, an authority's certificate in PEM, clients verify it; an empty one verifies nothing. name is one that its certificate has, which the exporter asks for."
  type = object({
    service  = string
    provider = string
    account  = string
    tls      = string
    ca       = string
    name     = string
  })
}

variable "client" {
  description = "The image with the database's client, which makes the account."
  type = object({
    image = string
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
  lookup = var.server.provider == "consul" ? "service" : "nomadService"
  # Without encryption MySQL wants its public key for the login.
  tls = var.server.tls == "off" ? "--get-server-public-key" : var.server.ca == "" ? "--ssl-mode=REQUIRED" : "--ssl-mode=VERIFY_CA"
  # By its address the exporter would know no server: the name is one of its certificate (v0.20.0 or newer).
  name      = var.server.ca == "" ? [] : ["tls-server-name = ${var.server.name}"]
  authority = var.server.ca == "" ? [] : ["ssl-ca = {{ env \"NOMAD_SECRETS_DIR\" }}/ca.pem"]
  exporter_args = concat(
    ["--config.my-cnf=$${NOMAD_SECRETS_DIR}/exporter.cnf"],
    ["--web.config.file=$${NOMAD_SECRETS_DIR}/web.yml", "--web.listen-address=:$${NOMAD_PORT_metrics}"],
    # A replica's state would take one privilege more.
    ["--no-collect.slave_status"],
    var.server.tls == "off" || var.server.ca != "" ? [] : ["--tls.insecure-skip-verify"],
  )
  # Each server has an id of its own in it: another allocation of the server is another text.
  address = [
    "{{ with ${local.lookup} \"${var.server.service}\" }}{{ with index . 0 }}host = {{ .Address }}",
    "port = {{ .Port }}",
    "# {{ .ID }}{{ end }}{{ end }}",
  ]
}

job "mysql-metrics" {
  id          = var.job.id
  name        = var.job.id
  type        = "service"
  namespace   = var.job.namespace
  datacenters = var.job.datacenters
  node_pool   = var.job.node_pool

  ui {
    description = "Metrics of a MySQL server, for Prometheus."
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

      env {
        ACCOUNT   = var.server.account
        TLS_MYSQL = local.tls
      }

      template {
        destination = "local/account.sh"
        perms       = "0755"
        change_mode = "noop"
        data        = file("jobs/mysql/exporter-account.sh")
      }

      template {
        destination = "${NOMAD_SECRETS_DIR}/client.cnf"
        perms       = "0400"
        change_mode = "restart"
        data = join("\n", concat(["[client]", "user = root"], local.address, local.authority, [
          "password = {{ with nomadVar \"nomad/jobs/${var.job.id}/exporter/account\" }}{{ .root_password }}{{ end }}",
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

      # It sees the server's state and the statements that run, and can read no row.
      template {
        destination = "${NOMAD_SECRETS_DIR}/account.sql"
        perms       = "0400"
        change_mode = "restart"
        data = join("\n", [
          "CREATE USER IF NOT EXISTS '${var.server.account}'@'%' IDENTIFIED BY '{{ with nomadVar \"nomad/jobs/${var.job.id}\" }}{{ .password }}{{ end }}';",
          "ALTER USER '${var.server.account}'@'%' IDENTIFIED BY '{{ with nomadVar \"nomad/jobs/${var.job.id}\" }}{{ .password }}{{ end }}' WITH MAX_USER_CONNECTIONS 5;",
          "GRANT PROCESS ON *.* TO '${var.server.account}'@'%';",
          "",
        ])
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
        args  = local.exporter_args
        ports = ["metrics"]
      }

      template {
        destination = "${NOMAD_SECRETS_DIR}/exporter.cnf"
        perms       = "0400"
        uid         = var.task.uid
        gid         = var.task.uid
        change_mode = "restart"
        data = join("\n", concat(["[client]", "user = ${var.server.account}"], local.address, local.authority, local.name, [
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
        name     = "mysql-metrics"
        port     = "metrics"
        provider = var.service.provider
        tags     = ["prometheus", "server=${var.server.service}"]
      }
    }
  }
}
