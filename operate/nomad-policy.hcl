# What an operator's token may do beyond the program's: drain clients, read logs, look into tasks, stop allocations and
# jobs. With another namespace in the stack's placement, give this block that namespace's name.
# Nomad shows a token only the allocations of namespaces that it may read. `operate drain` of a client that also runs
# consumers of volumes in other namespaces needs such a block (alloc-lifecycle, csi-read-volume, read-job) for each.

namespace "default" {
  policy = "write"

  variables {
    path "nomad/jobs/*" {
      capabilities = ["list", "read", "write", "destroy"]
    }
  }
}

node {
  policy = "write"
}

plugin {
  policy = "read"
}

agent {
  policy = "read"
}

operator {
  policy = "read"
}

# Restore drills (`operate drill`): jobs, volumes, logs and a password of their own. With --dump or --to they also read the
# stack's jobs that restore dumps or copy binary logs, which the first block allows. The namespace is made once, by
# `nomad namespace apply -description "Restore drills" drill`. A token without this block cannot drill.
namespace "drill" {
  policy = "write"

  variables {
    path "nomad/jobs/*" {
      capabilities = ["list", "read", "write", "destroy"]
    }
  }
}
