job = { id = "mysql-restore", namespace = "default", datacenters = ["*"], node_pool = "default" }

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
  account  = "root"
  ca       = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
}

client = {
  env = {
    TLS_MYSQL = "--ssl-mode=VERIFY_CA"
  }
  files = {
    "client.cnf" = "[client]\nuser = root\n{{ with nomadService \"mysql-server\" }}{{ with index . 0 }}host = {{ .Address }}\nport = {{ .Port }}\n# {{ .ID }}{{ end }}{{ end }}\nssl-ca = {{ env \"NOMAD_SECRETS_DIR\" }}/ca.pem\npassword = {{ with nomadVar \"nomad/jobs/mysql-restore\" }}{{ .password }}{{ end }}\n"
  }
}

s3 = {
  bucket     = "my-dumps"
  prefix     = "mysql/"
  region     = "us-west-2"
  endpoint   = ""
  image      = "111122223333.dkr.ecr.us-west-2.amazonaws.com/nomad-stateful-agent:0.2.0"
  memory_mib = 256
}
