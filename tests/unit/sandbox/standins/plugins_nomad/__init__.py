"""The embedded nomad plugin's logic that needs neither Nomad nor the engine."""
