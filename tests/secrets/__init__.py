"""Whether a stack's secrets are anywhere but in their own places.

In a shell that leads to any stack, `python -m tests.secrets` looks.
"""
