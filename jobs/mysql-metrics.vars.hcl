job = { id = "mysql-metrics", namespace = "default", datacenters = ["*"], node_pool = "default" }
server = {
  service  = "mysql-server"
  provider = "nomad"
  account  = "exporter"
  tls      = "required"
  ca       = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
  name     = "db.example"
}
client  = { image = "mysql:8.4.6" }
service = { port = 0, provider = "nomad" }
health  = { deadline = "270s", progress_deadline = "300s" }

task = {
  image      = "prom/mysqld-exporter:v0.20.0"
  uid        = 65534
  cpu_mhz    = 50
  memory_mib = 64
}
