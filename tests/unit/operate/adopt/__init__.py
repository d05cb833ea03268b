"""`operate adopt`: from what runs to settings."""
