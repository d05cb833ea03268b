"""What the plugin declares: one table of fields per resource, function and type."""
