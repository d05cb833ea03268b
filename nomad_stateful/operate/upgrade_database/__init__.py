"""The command `upgrade-mysql`: the stack's MySQL server to another version, with a snapshot before."""
