# The EBS driver as somebody wrote it by hand: other names, groups and resources than the project has.
job "storage" {
  datacenters = ["*"]
  type        = "system"

  group "both" {
    task "nodes" {
      driver = "raw_exec"
      config {
        command = "aws-ebs-csi-driver"
        args    = ["node", "--endpoint=${CSI_ENDPOINT}", "--logtostderr", "--v=3"]
      }
      csi_plugin {
        id                     = "ebs"
        type                   = "node"
        mount_dir              = "/csi"
        stage_publish_base_dir = "/mnt/nomad/client/csi/node/ebs"
      }
      resources {
        cpu    = 40
        memory = 96
      }
    }
  }
}
