"""What Nomad is asked and told, and what its answers mean."""
