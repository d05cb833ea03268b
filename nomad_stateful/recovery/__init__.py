"""Volumes that are held: by whom, and the steps that free them."""
