"""What uses a volume, and the recovery plan where it should not be in use."""
