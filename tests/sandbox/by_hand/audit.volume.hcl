# Of an EBS volume that nobody uses; its id is put in.
id          = "audit"
name        = "audit"
type        = "csi"
plugin_id   = "ebs"
external_id = "EXTERNAL_ID"
capability {
  access_mode     = "single-node-writer"
  attachment_mode = "file-system"
}
mount_options {
  fs_type = "ext4"
}
topology_request {
  required {
    topology {
      segments {
        "topology.ebs.csi.aws.com/zone" = "us-west-2a"
      }
    }
  }
}
