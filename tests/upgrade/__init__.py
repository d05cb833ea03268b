"""Stacks that earlier releases made, and what today's program would do to them."""
