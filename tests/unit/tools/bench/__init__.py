"""How measurements are summed up and shown."""
