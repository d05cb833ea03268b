"""Each alert made to fire and to clear: Prometheus, what measures, causes and cures."""
