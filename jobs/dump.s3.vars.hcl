# Dumps that are copied to S3, of a server that is verified. Run by hand it comes after the other file: -var-file=jobs/dump.vars.hcl -var-file=jobs/dump.s3.vars.hcl

server = {
  database = "mysql"
  account  = "backup"
  ca       = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
}

client = {
  env = {
    TLS_MYSQL = "--ssl-mode=VERIFY_CA"
  }
  files = {
    "client.cnf" = "[client]\nuser = backup\n{{ with nomadService \"mysql-server\" }}{{ with index . 0 }}host = {{ .Address }}\nport = {{ .Port }}\n# {{ .ID }}{{ end }}{{ end }}\nssl-ca = {{ env \"NOMAD_SECRETS_DIR\" }}/ca.pem\npassword = {{ with nomadVar \"nomad/jobs/mysql-backup\" }}{{ .password }}{{ end }}\n"
  }
}

s3 = {
  bucket     = "my-dumps"
  prefix     = "mysql/"
  region     = "us-west-2"
  endpoint   = ""
  image      = "111122223333.dkr.ecr.us-west-2.amazonaws.com/nomad-stateful-agent:0.3.0"
  memory_mib = 256
}
