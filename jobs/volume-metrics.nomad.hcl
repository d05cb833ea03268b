# Prometheus exporter of the file systems of each client, among them each mounted CSI volume's.
# Follows https://github.com/prometheus/node_exporter#docker.
# Run it by hand with: nomad job run -var-file=VARS jobs/volume-metrics.nomad.hcl

variable "job" {
  description = "Job id and where the job may run."
  type = object({
    id          = string
    namespace   = string
    datacenters = list(string)
    node_pool   = string
  })
}

variable "task" {
  description = "How the exporter runs in its image."
  type = object({
    image      = string
    cpu_mhz    = number
    memory_mib = number
  })
}

variable "service" {
  description = "Port on the clients (0 lets Nomad choose one) and where the service is registered."
  type = object({
    port     = number
    provider = string
  })
}

job "volume-metrics" {
  id          = var.job.id
  name        = var.job.id
  namespace   = var.job.namespace
  datacenters = var.job.datacenters
  node_pool   = var.job.node_pool

  ui {
    description = "Use of the mounted volumes of each client, for Prometheus."
  }

  # A copy on every client, drained after the tasks that use the volumes.
  type = "system"

  group "exporter" {
    constraint {
      attribute = "${attr.driver.docker.volumes.enabled}"
      value     = "true"
    }

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

    task "exporter" {
      driver = "docker"
      # Nomad's folders, in which the volumes are mounted, are root's alone.
      user = "root"

      config {
        image = var.task.image
        args = [
          "--web.listen-address=:${NOMAD_PORT_metrics}",
          "--web.disable-exporter-metrics",
          "--collector.disable-defaults",
          "--collector.filesystem",
          # Of the defaults without the folders that may hold Nomad's data.
          "--collector.filesystem.mount-points-exclude=^/(dev|proc|sys|var/lib/docker/.+)($|/)",
          "--path.rootfs=/host",
        ]
        ports = ["metrics"]
        mount = [{
          type     = "bind"
          source   = "/"
          target   = "/host"
          readonly = true
          # What the client mounts later is seen too, and nothing here keeps it from being unmounted.
          bind_options = { propagation = "rslave" }
        }]
      }

      resources {
        cpu    = var.task.cpu_mhz
        memory = var.task.memory_mib
      }

      service {
        name     = "volume-metrics"
        port     = "metrics"
        provider = var.service.provider
        tags     = ["prometheus"]
      }
    }
  }
}
