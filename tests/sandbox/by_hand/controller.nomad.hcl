job "storage-api" {
  datacenters = ["*"]

  group "api" {
    count = 1
    task "controller" {
      driver = "raw_exec"
      config {
        command = "aws-ebs-csi-driver"
        args    = ["controller", "--endpoint=${CSI_ENDPOINT}", "--logtostderr", "--v=3"]
      }
      csi_plugin {
        id        = "ebs"
        type      = "controller"
        mount_dir = "/csi"
      }
      resources {
        cpu    = 40
        memory = 96
      }
    }
  }
}
