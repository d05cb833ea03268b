"""Histories: how they are written, and the judge of them."""
