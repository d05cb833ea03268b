"""The program that runs in containers beside the database: one subcommand for each task."""
