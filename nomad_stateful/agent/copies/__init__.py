"""Closes MySQL's binary logs, and copies them to S3."""
