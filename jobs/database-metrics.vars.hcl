job = { id = "mysql-metrics", namespace = "default", datacenters = ["*"], node_pool = "default" }
server = {
  database = "mysql"
  service  = "mysql-server"
  account  = "exporter"
  ca       = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
}

client = {
  image = "mysql:8.4.6"
  env = {
    TLS_MYSQL = "--ssl-mode=VERIFY_CA"
  }
  files = {
    "client.cnf"  = "[client]\nuser = root\n{{ with nomadService \"mysql-server\" }}{{ with index . 0 }}host = {{ .Address }}\nport = {{ .Port }}\n# {{ .ID }}{{ end }}{{ end }}\nssl-ca = {{ env \"NOMAD_SECRETS_DIR\" }}/ca.pem\npassword = {{ with nomadVar \"nomad/jobs/mysql-metrics/exporter/account\" }}{{ .root_password }}{{ end }}\n"
    "account.cnf" = "[client]\nuser = exporter\n{{ with nomadService \"mysql-server\" }}{{ with index . 0 }}host = {{ .Address }}\nport = {{ .Port }}\n# {{ .ID }}{{ end }}{{ end }}\nssl-ca = {{ env \"NOMAD_SECRETS_DIR\" }}/ca.pem\npassword = {{ with nomadVar \"nomad/jobs/mysql-metrics\" }}{{ .password }}{{ end }}\n"
    "account.sql" = "CREATE USER IF NOT EXISTS 'exporter'@'%' IDENTIFIED BY '{{ with nomadVar \"nomad/jobs/mysql-metrics\" }}{{ .password }}{{ end }}';\nALTER USER 'exporter'@'%' IDENTIFIED BY '{{ with nomadVar \"nomad/jobs/mysql-metrics\" }}{{ .password }}{{ end }}' WITH MAX_USER_CONNECTIONS 5;\nGRANT PROCESS ON *.* TO 'exporter'@'%';\n"
  }
}

exporter = {
  env = {}
  files = {
    "exporter.cnf" = "[client]\nuser = exporter\n{{ with nomadService \"mysql-server\" }}{{ with index . 0 }}host = {{ .Address }}\nport = {{ .Port }}\n# {{ .ID }}{{ end }}{{ end }}\nssl-ca = {{ env \"NOMAD_SECRETS_DIR\" }}/ca.pem\ntls-server-name = db.example\npassword = {{ with nomadVar \"nomad/jobs/mysql-metrics\" }}{{ .password }}{{ end }}\n"
  }
  args = [
    "--config.my-cnf=$${NOMAD_SECRETS_DIR}/exporter.cnf",
    "--web.config.file=$${NOMAD_SECRETS_DIR}/web.yml",
    "--web.listen-address=:$${NOMAD_PORT_metrics}",
    "--no-collect.slave_status",
  ]
}

service = { port = 0, provider = "nomad" }
health  = { deadline = "270s", progress_deadline = "300s" }

task = {
  image      = "prom/mysqld-exporter:v0.20.0"
  uid        = 65534
  cpu_mhz    = 50
  memory_mib = 64
}
