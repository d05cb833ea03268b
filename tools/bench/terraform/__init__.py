"""Terraform as a contender."""
