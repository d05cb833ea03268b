job = { id = "plugin-aws-ebs0-node", namespace = "default", datacenters = ["*"], node_pool = "default", constraints = [] }

plugin = {
  id                     = "aws-ebs0"
  type                   = "node"
  mount_dir              = "/csi"
  stage_publish_base_dir = ""
  health_timeout         = "30s"
}

task = {
  image        = "public.ecr.aws/ebs-csi-driver/aws-ebs-csi-driver:v1.48.0"
  args         = ["node", "--endpoint=$${CSI_ENDPOINT}", "--logtostderr", "--v=2"]
  env          = {}
  privileged   = true
  network_mode = ""
  ipc_mode     = ""
  mounts       = []
  config_file  = ""
  cpu_mhz      = 100
  memory_mib   = 256
}

metrics = { provider = "nomad" }
