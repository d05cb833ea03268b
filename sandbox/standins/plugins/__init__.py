"""Stand-ins for official Pulumi provider plugins, for machines that cannot get the official ones."""
