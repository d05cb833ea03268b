"""A project of a person's own."""
