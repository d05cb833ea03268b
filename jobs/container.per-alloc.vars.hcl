# A program with a volume of its own for each instance: log[0] and log[1].
job = {
  id          = "logs"
  namespace   = "default"
  datacenters = ["*"]
  node_pool   = "default"
  constraints = [{ attribute = "$${attr.kernel.name}", operator = "=", value = "linux" }]
}

instances = { count = 2, canaries = 0 }

volumes = [{
  name            = "log"
  source          = "log"
  access_mode     = "single-node-writer"
  attachment_mode = "file-system"
  read_only       = false
  per_alloc       = true
  mount_path      = "/log"
  releases        = ["by-hand-0", "by-hand-1"]
}]

task = {
  driver       = "exec"
  image        = ""
  command      = "/bin/sh"
  args         = ["local/run.sh"]
  env          = { GREETING = "hello" }
  user         = "dbadmin"
  kill_signal  = "SIGTERM"
  kill_timeout = "10s"
  cpu_mhz      = 50
  memory_mib   = 32
}

ports      = []
files      = [{ path = "local/run.sh", text = "echo $GREETING >>/log/greetings\nexec sleep 1d\n", perms = "0755", change_mode = "restart" }]
services   = []
restart    = { attempts = 10, interval = "5m", delay = "15s" }
health     = { deadline = "300s", progress_deadline = "360s" }
disconnect = { stop_on_client_after = "1m" }
