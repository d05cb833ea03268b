# A server whose binary logs are copied to S3. Run by hand it comes after the other file: -var-file=jobs/database.vars.hcl -var-file=jobs/database.binlogs.vars.hcl

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
files        = { "my.cnf" = "[mysqld]\nmax_connections = 200\n" }
init_scripts = { "10-app.sql" = "CREATE DATABASE app;\n" }
tls          = { certificate = true, ca = true, args = ["--ssl-cert=$${NOMAD_SECRETS_DIR}/server-cert.pem", "--ssl-key=$${NOMAD_SECRETS_DIR}/server-key.pem", "--ssl-ca=$${NOMAD_SECRETS_DIR}/ca.pem"] }

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
  image      = "111122223333.dkr.ecr.us-west-2.amazonaws.com/nomad-stateful-agent:0.3.0"
  memory_mib = 256
  account    = "binlogs"
  interval_s = 30
  client     = "[client]\nuser = binlogs\nprotocol = socket\nsocket = {{ env \"NOMAD_ALLOC_DIR\" }}/mysql/mysql.sock\npassword = {{ .password_binlogs }}\n"
}
