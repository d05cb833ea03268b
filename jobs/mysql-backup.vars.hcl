job = { id = "mysql-backup", namespace = "default", datacenters = ["*"], node_pool = "default" }

volume = {
  id              = "dumps"
  access_mode     = "single-node-writer"
  attachment_mode = "file-system"
  mount_path      = "/dumps"
  release         = "by-hand"
}

task     = { image = "mysql:8.4.6", user = "", cpu_mhz = 100, memory_mib = 256 }
server   = { service = "mysql-server", provider = "nomad", account = "backup", tls = "preferred", ca = "" }
schedule = { cron = "0 3 * * *", keep = 7 }
