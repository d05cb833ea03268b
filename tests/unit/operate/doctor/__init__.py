"""The checks of `nomad-stateful doctor`, on a world that is in order and on broken ones."""
