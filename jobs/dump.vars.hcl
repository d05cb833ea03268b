job = { id = "mysql-backup", namespace = "default", datacenters = ["*"], node_pool = "default" }

volume = {
  id              = "dumps"
  access_mode     = "single-node-writer"
  attachment_mode = "file-system"
  mount_path      = "/dumps"
  release         = "by-hand"
}

task = { image = "mysql:8.4.6", user = "", cpu_mhz = 100, memory_mib = 256 }
server = {
  database = "mysql"
  account  = "backup"
  ca       = ""
}

client = {
  env = {
    TLS_MYSQL = "--ssl-mode=REQUIRED"
  }
  files = {
    "client.cnf" = "[client]\nuser = backup\n{{ with nomadService \"mysql-server\" }}{{ with index . 0 }}host = {{ .Address }}\nport = {{ .Port }}\n# {{ .ID }}{{ end }}{{ end }}\npassword = {{ with nomadVar \"nomad/jobs/mysql-backup\" }}{{ .password }}{{ end }}\n"
  }
}
schedule = { cron = "0 3 * * *", keep = 7 }
