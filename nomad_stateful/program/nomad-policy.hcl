# What the Pulumi program's token has to be allowed: to run jobs and register volumes in its namespace, hand them secrets,
# and read the state of nodes and plugins. docs/guide.md fills in another namespace.
#
# It is no small permission: clients must allow privileged containers and docker's volumes, and with those whoever may
# submit a job is root on every client that the namespace's jobs may run on. So a namespace and a node pool of its own:
# docs/guide.md, Nomad's tokens.

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
