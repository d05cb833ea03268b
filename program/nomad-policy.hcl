# The least that the Pulumi program's token has to be allowed: to run jobs and register volumes in its namespace, hand
# them secrets, and read the state of nodes and plugins. Nothing about other namespaces, nodes' eligibility or access.
# With another namespace in the stack's placement, give this block that namespace's name.

namespace "default" {
  capabilities = [
    "submit-job",
    "read-job",
    # why a plugin is not healthy: its jobs are looked for
    "list-jobs",
    # jobs with a csi_plugin block
    "csi-register-plugin",
    # registrations, and volumes that a driver makes
    "csi-write-volume",
    # jobs with a volume
    "csi-mount-volume",
  ]

  # The database's password reaches its task through a variable of its job; and claims to ids, under nomad-stateful/.
  variables {
    path "nomad/jobs/*" {
      capabilities = ["read", "write", "destroy"]
    }
  }
}

# Which versions servers and clients have, which zones have ready clients, and which drivers those offer.
node {
  policy = "read"
}

# Whether a CSI plugin is healthy in every zone.
plugin {
  policy = "read"
}
