job = { id = "mysql-server-1", namespace = "default", datacenters = ["*"], node_pool = "default" }

volume = {
  id              = "mysql[0]"
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
  args         = ["--datadir=/srv/mysql", "--skip-name-resolve", "--port=$${NOMAD_PORT_db}"]
  user         = ""
  uid          = 999
  kill_timeout = "30s"
  cpu_mhz      = 500
  memory_mib   = 1024
}

service    = { port = 3306, provider = "nomad", check_interval = "10s", check_timeout = "2s" }
restart    = { attempts = 10, interval = "5m", delay = "25s" }
health     = { deadline = "300s", progress_deadline = "360s" }
disconnect = { stop_on_client_after = "10m" }

files        = {}
init_scripts = {}
tls          = { certificate = false, ca = false, args = [] }
accounts     = { env = {}, files = {} }

secrets = {
  "root-password"     = "{{ .root_password }}"
  "root-password.sql" = "SET sql_log_bin = 0;\nALTER USER IF EXISTS 'root'@'%' IDENTIFIED BY '{{ .root_password }}';\nALTER USER IF EXISTS 'root'@'localhost' IDENTIFIED BY '{{ .root_password }}';\n"
}

group = {
  member      = "mysql-server-1"
  id          = "7a2ec541-55e0-4b6f-8159-3a60de6ecc3c"
  first       = "mysql-server-1"
  members     = ["mysql-server-1", "mysql-server-2", "mysql-server-3"]
  port        = 13306
  image       = "nomad-stateful-agent:0.2.0"
  agent_port  = 13307
  memory_mib  = 128
  certificate = ""
  files       = { "replication.cnf" = "[client]\nuser = nomad_group\npassword = {{ .password_nomad_group }}\n" }
}
