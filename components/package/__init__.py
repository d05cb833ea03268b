"""The components as a package for Pulumi programs in every language."""
