# A web server that serves what others write: the shared volume is mounted read-only.
job       = { id = "readers", namespace = "default", datacenters = ["*"], node_pool = "default", constraints = [] }
instances = { count = 2, canaries = 1 }

volumes = [{
  name            = "shared"
  source          = "shared"
  access_mode     = "multi-node-multi-writer"
  attachment_mode = "file-system"
  read_only       = true
  per_alloc       = false
  mount_path      = "/usr/share/nginx/html"
  releases        = ["by-hand"]
}]

task = {
  driver       = "docker"
  image        = "nginx:1.29.1"
  command      = ""
  args         = []
  env          = {}
  user         = ""
  kill_signal  = "SIGQUIT"
  kill_timeout = "30s"
  cpu_mhz      = 100
  memory_mib   = 64
}

ports      = [{ label = "http", static = 0, to = 80 }]
files      = []
services   = [{ provider = "nomad", port = "http", check = "http", check_path = "/", check_interval = "10s", check_timeout = "2s" }]
restart    = { attempts = 10, interval = "5m", delay = "15s" }
health     = { deadline = "300s", progress_deadline = "360s" }
disconnect = { stop_on_client_after = "" }
