"""The command `group`: what a member of a replication group does beside its server."""
