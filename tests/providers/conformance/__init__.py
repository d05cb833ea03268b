"""What every resource type and function of every plugin promises, asked of all of them in the same words."""
