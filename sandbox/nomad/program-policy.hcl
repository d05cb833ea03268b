# What the Pulumi program's token may do: run jobs and register volumes in its namespace, hand them secrets, and read
# the state of nodes and plugins. Nothing about other namespaces, nodes' eligibility, ACLs or operators.
# With another namespace in the stack's placement, give this block that namespace's name.

namespace "default" {
  capabilities = [
    "list-jobs",
    "read-job",
    "parse-job",
    "submit-job",
    "csi-register-plugin",
    "csi-list-volume",
    "csi-read-volume",
    "csi-write-volume",
    "csi-mount-volume",
  ]

  # The database's password reaches its task through a variable of its job.
  variables {
    path "nomad/jobs/*" {
      capabilities = ["list", "read", "write", "destroy"]
    }
  }
}

# Which zones have ready clients, and which drivers those offer.
node {
  policy = "read"
}

# Whether a CSI plugin is healthy in every zone.
plugin {
  policy = "read"
}
