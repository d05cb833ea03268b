"""How long MySQL is away when the instance it runs on is lost, phase by phase."""
