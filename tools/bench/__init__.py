"""How long things take, against what, and what they cost an account: `make bench`."""
