"""Judges the drivers' IAM policies as AWS would."""
