"""Stand-in for pulumi-resource-nomad: the types the program uses, with the official plugin's state."""
