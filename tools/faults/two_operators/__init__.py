"""Two commands that change one stack at once, under a writer."""
