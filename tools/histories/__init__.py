"""Clients of a database that write down what they invoke and what comes back, and the call of the judge."""
