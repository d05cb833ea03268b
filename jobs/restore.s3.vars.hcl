# Restores of dumps in S3, into a server that is verified. Run by hand it comes after the other file: -var-file=jobs/restore.vars.hcl -var-file=jobs/restore.s3.vars.hcl

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
  image      = "111122223333.dkr.ecr.us-west-2.amazonaws.com/nomad-stateful-agent:0.3.0"
  memory_mib = 256
}
