"""The provider's functions."""
