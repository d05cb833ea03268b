"""What holds of every database of the catalogue, on its real server."""
