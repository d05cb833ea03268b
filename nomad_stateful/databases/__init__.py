"""What is known of a database: how it writes what the project reads."""
