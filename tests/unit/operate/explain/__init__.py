"""The explanations of `nomad-stateful explain`."""
