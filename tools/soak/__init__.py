"""A stack's simulated month, in which nothing may grow without bound."""
