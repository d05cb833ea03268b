"""The commands `upgrade-NAME`: the stack's database server to another version, with a snapshot before."""
