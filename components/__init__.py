"""Reusable Pulumi components; each stands alone, and the program wires their outputs to each other's inputs."""
