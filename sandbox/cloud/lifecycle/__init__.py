"""Data Lifecycle Manager, which moto lacks: its API, and what follows its policies by a movable clock."""
