# The EBS driver as somebody wrote it by hand: other names, groups and resources than the project has.
job "storage" {
  datacenters = ["*"]
  type        = "system"

  group "both" {
    task "nodes" {
      driver = "docker"
      config {
        image      = "public.ecr.aws/ebs-csi-driver/aws-ebs-csi-driver:v1.48.0"
        args       = ["node", "--endpoint=${CSI_ENDPOINT}", "--logtostderr", "--v=3"]
        privileged = true
      }
      csi_plugin {
        id        = "ebs"
        type      = "node"
        mount_dir = "/csi"
      }
      resources {
        cpu    = 40
        memory = 128
      }
    }
  }
}
