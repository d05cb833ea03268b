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
  service  = "mysql-server"
  provider = "nomad"
  account  = "root"
  tls      = "required"
  ca       = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
}

s3 = {
  bucket     = "my-dumps"
  prefix     = "mysql/"
  region     = "us-west-2"
  endpoint   = ""
  image      = "111122223333.dkr.ecr.us-west-2.amazonaws.com/nomad-stateful-agent:0.1.0"
  memory_mib = 256
}
