job     = { id = "mysql-metrics", namespace = "default", datacenters = ["*"], node_pool = "default" }
server  = { service = "mysql-server", provider = "nomad", account = "exporter", tls = "preferred", ca = "", name = "" }
client  = { image = "" }
service = { port = 0, provider = "nomad" }
health  = { deadline = "270s", progress_deadline = "300s" }

task = {
  driver     = "raw_exec"
  image      = ""
  command    = "prometheus-mysqld-exporter"
  uid        = 65534
  cpu_mhz    = 50
  memory_mib = 64
}
