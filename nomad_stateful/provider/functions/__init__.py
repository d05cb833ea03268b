"""The provider's functions, one a file."""
