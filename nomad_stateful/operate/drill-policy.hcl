# What a token has to be allowed that only drills (`nomad-stateful drill`), in CI for instance: docs/ci.md. docs/guide.md
# fills in another namespace.
#
# `submit-job`, also in the namespace `drill` alone, is as good as root on every client that may run its jobs:
# docs/guide.md, Nomad's tokens.

# Which volumes and jobs the stack has. --check copies a consumer's job, --dump the one that restores dumps, and --to the one
# that copies binary logs.
namespace "default" {
  capabilities = [
    "list-jobs",
    "read-job",
    "csi-list-volume",
    "csi-read-volume",
  ]
}

# Jobs, volumes, logs and a password of the drill's own.
namespace "drill" {
  capabilities = [
    "list-jobs",
    "read-job",
    "submit-job",
    "parse-job",
    "read-logs",
    "read-fs",
    "csi-list-volume",
    "csi-read-volume",
    "csi-write-volume",
    "csi-mount-volume",
  ]

  variables {
    path "nomad/jobs/*" {
      capabilities = ["list", "read", "write", "destroy"]
    }
  }
}

node {
  policy = "read"
}

# Whether the driver's controllers are healthy.
plugin {
  policy = "read"
}
