"""The checks of `operate doctor`, on a world that is in order and on broken ones."""
