"""The sandbox: what can be tested without root."""
