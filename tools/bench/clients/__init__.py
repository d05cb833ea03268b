"""How long MySQL is away when its client is drained, replaced or gets another driver, under a writer."""
