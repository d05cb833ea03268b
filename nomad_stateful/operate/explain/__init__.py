"""`nomad-stateful explain`: why a volume or a job is pending or stuck, in words, and the next command."""
