# What a token has to be allowed that only previews, in CI for instance: to read, and to have the scheduler plan jobs.
# It can run and register nothing, and reads no secret of Nomad's: the claims to ids are variables, and have no secret in
# them. What it is used with, the stack's state, has secrets: docs/ci.md.
# `plan-job` is in Nomad 1.11.2 and later. With another namespace in the stack's placement, give this block that name.

namespace "default" {
  capabilities = [
    "plan-job",
    "parse-job",
    "list-jobs",
    "read-job",
    "csi-list-volume",
    "csi-read-volume",
  ]

  variables {
    path "nomad/jobs/nomad-stateful/*" {
      capabilities = ["read"]
    }
  }
}

node {
  policy = "read"
}

plugin {
  policy = "read"
}
