job = { id = "mysql-server", namespace = "default", datacenters = ["*"], node_pool = "default" }

volume = {
  id              = "mysql"
  access_mode     = "single-node-writer"
  attachment_mode = "file-system"
  mount_path      = "/srv"
  release         = "by-hand"
}

server = {
  database = "mysql"
  port     = 3306
  data_dir = "/srv/mysql"
  socket   = "mysql/mysql.sock"
  env      = { MYSQL_ROOT_PASSWORD_FILE = "$${NOMAD_SECRETS_DIR}/root-password" }
}

task = {
  image        = "mysql:8.4.6"
  command      = "docker-entrypoint.sh"
  args         = ["--defaults-extra-file=$${NOMAD_TASK_DIR}/my.cnf", "--datadir=/srv/mysql", "--skip-name-resolve", "--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--port=$${NOMAD_PORT_db}"]
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

files        = { "my.cnf" = "[mysqld]\nmax_connections = 200\n" }
init_scripts = { "10-app.sql" = "CREATE DATABASE app;\n" }
tls          = { certificate = true, ca = true, args = ["--ssl-cert=$${NOMAD_SECRETS_DIR}/server-cert.pem", "--ssl-key=$${NOMAD_SECRETS_DIR}/server-key.pem", "--ssl-ca=$${NOMAD_SECRETS_DIR}/ca.pem"] }

secrets = {
  "root-password"     = "{{ .root_password }}"
  "root-password.sql" = "SET sql_log_bin = 0;\nALTER USER IF EXISTS 'root'@'%' IDENTIFIED BY '{{ .root_password }}';\nALTER USER IF EXISTS 'root'@'localhost' IDENTIFIED BY '{{ .root_password }}';\n"
}

accounts = {
  env = { TLS_MYSQL = "--ssl-mode=DISABLED" }
  files = {
    "client.cnf"   = "[client]\nuser = root\nprotocol = socket\nsocket = {{ env \"NOMAD_ALLOC_DIR\" }}/mysql/mysql.sock\npassword = {{ .root_password }}\n"
    "accounts.sql" = "CREATE USER IF NOT EXISTS 'binlogs'@'%' IDENTIFIED BY '{{ .password_binlogs }}';\nALTER USER 'binlogs'@'%' IDENTIFIED BY '{{ .password_binlogs }}';\nGRANT RELOAD ON *.* TO 'binlogs'@'%';\n"
  }
}

binlogs = {
  bucket     = "my-binlogs"
  prefix     = "mysql/"
  region     = "us-west-2"
  endpoint   = ""
  image      = "111122223333.dkr.ecr.us-west-2.amazonaws.com/nomad-stateful-agent:0.2.0"
  memory_mib = 256
  account    = "binlogs"
  interval_s = 30
  client     = "[client]\nuser = binlogs\nprotocol = socket\nsocket = {{ env \"NOMAD_ALLOC_DIR\" }}/mysql/mysql.sock\npassword = {{ .password_binlogs }}\n"
}
