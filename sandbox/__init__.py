"""A local stand-in for an AWS account with a Nomad cluster in it, made of processes and namespaces of this machine."""
