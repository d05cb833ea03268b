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
