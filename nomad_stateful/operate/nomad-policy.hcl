# What an operator's token may do beyond the program's: drain clients, read logs and files of tasks, stop allocations and
# jobs, dispatch restores. docs/guide.md fills in another namespace.
# Nomad shows a token only the allocations of namespaces that it may read. `nomad-stateful drain` of a client that also runs
# consumers of volumes in other namespaces needs such a block (alloc-lifecycle, csi-read-volume, read-job) for each.
#
# `submit-job` is as good as root on every client that the namespace's jobs may run on: docs/guide.md, Nomad's tokens.
# Capabilities are named one by one, since `policy = "write"` has more: making host volumes, by which a token could run
# programs on clients as root (CVE-2026-7474).

namespace "default" {
  capabilities = [
    "list-jobs",
    "read-job",
    # purge and register, revert, evaluate; and the scheduler's plan before a drain
    "submit-job",
    "parse-job",
    # `nomad-stateful restore`
    "dispatch-job",
    "read-logs",
    "read-fs",
    # `nomad-stateful mysql`, which enters the server's task
    "alloc-exec",
    # stop and restart allocations
    "alloc-lifecycle",
    "csi-list-volume",
    "csi-read-volume",
    "csi-write-volume",
    "csi-mount-volume",
    # the driver's node job, by `nomad-stateful upgrade-driver`
    "csi-register-plugin",
  ]

  variables {
    path "nomad/jobs/*" {
      capabilities = ["list", "read", "write", "destroy"]
    }
  }
}

# Drains and eligibility.
node {
  policy = "write"
}

plugin {
  policy = "read"
}

# A client's own configuration, for `nomad-stateful doctor`.
agent {
  policy = "read"
}

operator {
  policy = "read"
}

# Restore drills (`nomad-stateful drill`): jobs, volumes, logs and a password of their own. With --dump or --to they also read the
# stack's jobs that restore dumps or copy binary logs, which the first block allows. The namespace is made once, by
# `nomad namespace apply -description "Restore drills" drill`. A token without this block cannot drill.
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
