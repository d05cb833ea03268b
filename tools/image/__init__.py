"""The image of nomad-stateful-agent."""
