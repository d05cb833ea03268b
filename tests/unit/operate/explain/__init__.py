"""The explanations of `operate explain`."""
