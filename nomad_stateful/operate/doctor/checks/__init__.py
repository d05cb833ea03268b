"""The checks: one subject per file; the table that they are in is table.py."""
