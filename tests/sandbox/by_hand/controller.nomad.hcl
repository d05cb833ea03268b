job "storage-api" {
  datacenters = ["*"]

  group "api" {
    count = 1
    task "controller" {
      driver = "docker"
      config {
        image = "public.ecr.aws/ebs-csi-driver/aws-ebs-csi-driver:v1.48.0"
        args  = ["controller", "--endpoint=${CSI_ENDPOINT}", "--logtostderr", "--v=3"]
      }
      csi_plugin {
        id        = "ebs"
        type      = "controller"
        mount_dir = "/csi"
      }
      resources {
        cpu    = 40
        memory = 128
      }
    }
  }
}
