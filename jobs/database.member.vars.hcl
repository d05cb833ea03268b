# A member of a replication group. Run by hand it comes after the other file: -var-file=jobs/database.vars.hcl -var-file=jobs/database.member.vars.hcl
job = { id = "mysql-server-1", namespace = "default", datacenters = ["*"], node_pool = "default" }

volume = {
  id              = "mysql[0]"
  access_mode     = "single-node-writer"
  attachment_mode = "file-system"
  mount_path      = "/srv"
  release         = "by-hand"
}
disconnect = { stop_on_client_after = "" }

group = {
  member      = "mysql-server-1"
  id          = "7a2ec541-55e0-4b6f-8159-3a60de6ecc3c"
  first       = "mysql-server-1"
  members     = ["mysql-server-1", "mysql-server-2", "mysql-server-3"]
  port        = 13306
  image       = "nomad-stateful-agent:0.3.0"
  agent_port  = 13307
  memory_mib  = 128
  certificate = ""
  files       = { "replication.cnf" = "[client]\nuser = nomad_group\npassword = {{ .password_nomad_group }}\n" }
}
