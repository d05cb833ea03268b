"""Components and resources for stateful workloads on Nomad."""
