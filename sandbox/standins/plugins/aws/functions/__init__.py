"""The lookups (invokes) of the stand-in aws plugin, one per file."""
