# What the failover watch may do in Nomad, by the identity of its own job:
# docs/failover.md applies it, and fills in another namespace or failover.jobId.

namespace "default" {
  capabilities = [
    # why a job waits: its evaluations and allocations
    "read-job",
    # to have it evaluated. Enterprise 1.10 does not know this capability: there it takes "submit-job", with which a task
    # of this job could submit any job, and so be root on every client (docs/guide.md, Nomad's tokens)
    "evaluate-job",
    # which EBS volume it is
    "csi-read-volume",
  ]
}

# Which clients are down, and which instances they are.
node {
  policy = "read"
}
