"""The report on previews that the real engine made."""
