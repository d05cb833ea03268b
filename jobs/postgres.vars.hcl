job = { id = "postgres-server", namespace = "default", datacenters = ["*"], node_pool = "default" }

volume = {
  id              = "postgres"
  access_mode     = "single-node-writer"
  attachment_mode = "file-system"
  mount_path      = "/srv"
  release         = "by-hand"
}

task = {
  image        = "postgres:18.1"
  command      = "docker-entrypoint.sh"
  args         = ["--data_directory=/srv/postgres"]
  user         = ""
  uid          = 999
  kill_timeout = "30s"
  cpu_mhz      = 500
  memory_mib   = 1024
}

service    = { port = 5432, provider = "nomad", check_interval = "10s", check_timeout = "2s" }
restart    = { attempts = 10, interval = "5m", delay = "25s" }
health     = { deadline = "300s", progress_deadline = "360s" }
disconnect = { stop_on_client_after = "1m" }

config       = {}
init_scripts = {}
tls          = { mode = "preferred", certificate = false, ca = false }
databases    = []
accounts     = []
