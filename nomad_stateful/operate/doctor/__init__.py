"""`nomad-stateful doctor`: what is wrong with an account, a cluster and a stack, before an `up` and any time."""
