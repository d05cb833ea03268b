job = { id = "mysql-server", namespace = "default", datacenters = ["*"], node_pool = "default" }

volume = {
  id              = "mysql"
  access_mode     = "single-node-writer"
  attachment_mode = "file-system"
  mount_path      = "/srv"
  release         = "by-hand"
}

task = {
  image        = "mysql:8.4.6"
  command      = "docker-entrypoint.sh"
  args         = ["--datadir=/srv/mysql", "--skip-name-resolve", "--gtid-mode=ON", "--enforce-gtid-consistency=ON"]
  user         = ""
  uid          = 999
  kill_timeout = "30s"
  cpu_mhz      = 500
  memory_mib   = 1024
}

service    = { port = 3306, provider = "nomad", check_interval = "10s", check_timeout = "2s" }
restart    = { attempts = 10, interval = "5m", delay = "25s" }
health     = { deadline = "300s", progress_deadline = "360s" }
disconnect = { stop_on_client_after = "1m" }

config       = {}
init_scripts = {}
tls          = { mode = "preferred", certificate = false, ca = false }
databases    = []
accounts     = [{ name = "binlogs", privileges = "RELOAD", database = "" }]

binlogs = {
  bucket     = "my-binlogs"
  prefix     = "mysql/"
  region     = "us-west-2"
  endpoint   = ""
  image      = "111122223333.dkr.ecr.us-west-2.amazonaws.com/nomad-stateful-agent:0.2.0"
  memory_mib = 256
  account    = "binlogs"
  interval_s = 30
}
