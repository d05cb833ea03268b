"""The pages as a site."""
