# Writes a line every tenth of a second, with the seconds since the machine's start.
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
      driver = "docker"
      config {
        image   = "busybox:1"
        command = "/bin/sh"
        args    = ["-c", "n=0; while :; do n=$((n+1)); echo $n $(cut -d' ' -f1 /proc/uptime) >>/data/rows; sync /data/rows; sleep 0.1; done"]
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
