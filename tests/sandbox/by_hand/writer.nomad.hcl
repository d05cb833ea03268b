# Writes a line every tenth of a second, with the time.
job "writer" {
  datacenters = ["*"]

  group "writer" {
    volume "data" {
      type            = "csi"
      source          = "ledger"
      access_mode     = "single-node-writer"
      attachment_mode = "file-system"
    }
    task "writer" {
      driver = "exec"
      user   = "dbadmin"
      config {
        command = "/bin/sh"
        args    = ["-c", "n=0; while :; do n=$((n+1)); echo $n $(date +%s.%N) >>/data/rows; sync /data/rows; sleep 0.1; done"]
      }
      volume_mount {
        volume      = "data"
        destination = "/data"
      }
      resources {
        cpu    = 40
        memory = 32
      }
    }
  }
}
