"""Settings for what runs already, made by hand or by another tool."""
