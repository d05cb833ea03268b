"""`nomad-stateful adopt`: from what runs to settings."""
