# Part of a Nomad client's configuration: on SIGTERM it drains itself before it ends, and so lets go of its volumes.
leave_on_terminate = true
leave_on_interrupt = true

client {
  drain_on_shutdown {
    # Within the two minutes that a spot instance has: 5 s until the notice is seen, this, 10 s to unmount and detach.
    deadline = "90s"
    # Node plugins stay until their volumes are unmounted.
    ignore_system_jobs = true
    force              = false
  }
}
