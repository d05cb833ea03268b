"""The provider's resource types, one a file."""
