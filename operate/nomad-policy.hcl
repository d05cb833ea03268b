# What an operator's token may do beyond the program's: drain clients, read logs, look into tasks.

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

# Restore drills (`operate drill`): jobs, volumes, logs and a password of their own. The namespace is made once, by
# `nomad namespace apply -description "Restore drills" drill`. A token without this block cannot drill.
namespace "drill" {
  policy = "write"

  variables {
    path "nomad/jobs/*" {
      capabilities = ["list", "read", "write", "destroy"]
    }
  }
}
