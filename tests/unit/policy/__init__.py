"""The policy pack's rules."""
