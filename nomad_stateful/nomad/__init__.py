"""Nomad's HTTP API: the client, and what its answers mean for jobs, volumes and plugins."""
