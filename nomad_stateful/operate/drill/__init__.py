"""A restore drill: a snapshot is restored, the real server started on it, its tables checked, and all of it removed."""
