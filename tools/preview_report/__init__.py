"""What a reviewer reads about a change: a report on `pulumi preview --json`, red where data would be lost."""
