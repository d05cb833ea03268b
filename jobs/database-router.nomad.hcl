# Routers of a database's replication group, on every client: one address for whoever is the primary, one for reads.
# Which member is what, its agent says over HTTP (docs/agent.md).
# Run it by hand with: nomad job run -var-file=VARS jobs/database-router.nomad.hcl

variable "job" {
  description = "Job id and where the job may run."
  type        = object({ id = string, namespace = string, datacenters = list(string), node_pool = string })
}

variable "task" {
  description = "How HAProxy runs in its image."
  type        = object({ image = string, cpu_mhz = number, memory_mib = number })
}

variable "service" {
  description = "Name of the service, which is followed by -read for the one of reads, its ports on each client, and where it is registered."
  type        = object({ name = string, port = number, read_port = number, provider = string })
}

variable "members" {
  description = "Services of the members, the port of their agents, and how far behind one may be that answers reads, in seconds."
  type        = object({ names = list(string), agent_port = number, max_lag_s = number })
}

variable "health" {
  description = "Time that each has to lead to the primary, and after which a new version is given up."
  type        = object({ deadline = string, progress_deadline = string })
}

locals {
  lookup = var.service.provider == "consul" ? "service" : "nomadService"
  any    = var.service.provider == "consul" ? "|any" : ""
  # Without a name the server's address is its name, which another one at the same place keeps.
  servers = join("", [for name in var.members.names : "{{ range ${local.lookup} \"${name}${local.any}\" }}  server ${name}-{{ .Address }}-{{ .Port }} {{ .Address }}:{{ .Port }} check port ${var.members.agent_port}\n{{ end }}"])
}

job "database-router" {
  id          = var.job.id
  name        = var.job.id
  namespace   = var.job.namespace
  datacenters = var.job.datacenters
  node_pool   = var.job.node_pool

  ui { description = "The way to a database's primary, and to its members for reads." }

  # A router on every client: whoever asks its own client's does not depend on another zone.
  type = "system"

  # A new version reaches the next client once it leads to the primary on the one before it.
  update {
    max_parallel      = 1
    min_healthy_time  = "1s"
    healthy_deadline  = var.health.deadline
    progress_deadline = var.health.progress_deadline
  }

  group "router" {
    network {
      port "db" { static = var.service.port }
      port "read" { static = var.service.read_port }
      port "state" {}
    }

    # A client that Nomad does not hear for a while keeps its router, and the sessions through it: the client may itself
    # have lost no more than the Nomad server that it asked.
    disconnect {
      lost_after = "5m"
      replace    = false
      reconcile  = "keep_original"
    }

    restart {
      attempts = 10
      interval = "5m"
      delay    = "2s"
      mode     = "delay"
    }

    task "router" {
      driver = "docker"

      config {
        image           = var.task.image
        command         = "sh"
        args            = ["${NOMAD_TASK_DIR}/router.sh", "start"]
        ports           = ["db", "read", "state"]
        readonly_rootfs = true
        cap_drop        = ["all"]
        security_opt    = ["no-new-privileges"]
      }

      template {
        destination = "local/router.sh"
        perms       = "0755"
        change_mode = "noop"
        data        = file("jobs/router.sh")
      }

      # A member at another address: HAProxy's master process reads the file again, and goes on listening.
      template {
        destination = "local/haproxy.cfg"
        change_mode = "script"
        # A signal to a task that does not run just then would end the allocation for good.
        change_script {
          command       = "/bin/sh"
          args          = ["-c", "exec sh $NOMAD_TASK_DIR/router.sh changed"]
          timeout       = "5s"
          fail_on_error = false
        }
        data = <<CFG
global
  log stdout format raw local0 notice
  # A process that was replaced does not check its servers any more, so that it would keep sessions with a former primary.
  hard-stop-after 5s

defaults
  mode tcp
  log global
  option dontlognull
  option clitcpka
  option srvtcpka
  timeout connect 2s
  # The server's own wait_timeout ends idle sessions.
  timeout client 8h
  timeout server 8h
  # Two answers that a member is not the primary come at once. One that is silent keeps its sessions for two checks: the
  # others elect nobody before they heard nothing of it for five seconds.
  timeout check 2s
  # Of two replicas one that has just stopped refuses connections, and the other one answers.
  option redispatch 1
  http-check expect status 200
  # Nobody is taken for the primary before the first check: a router that starts, or reads its file again, leads nowhere.
  default-server init-state fully-down inter 500ms fastinter 100ms downinter 300ms fall 2 rise 1 on-marked-down shutdown-sessions

listen primary
  bind :{{ env "NOMAD_PORT_db" }}
  option httpchk GET /primary
${local.servers}
listen replicas
  bind :{{ env "NOMAD_PORT_read" }}
  balance leastconn
  option httpchk GET /replica?lag=${var.members.max_lag_s}
${local.servers}
frontend state
  mode http
  timeout client 5s
  bind :{{ env "NOMAD_PORT_state" }}
  monitor-uri /ready
  monitor fail if { nbsrv(primary) eq 0 }
CFG
      }

      resources {
        cpu    = var.task.cpu_mhz
        memory = var.task.memory_mib
      }

      service {
        name     = var.service.name
        port     = "db"
        provider = var.service.provider

        check {
          type     = "http"
          port     = "state"
          path     = "/ready"
          interval = "2s"
          timeout  = "2s"
        }
      }

      service {
        name     = "${var.service.name}-read"
        port     = "read"
        provider = var.service.provider
      }
    }
  }
}
