"""The least that a Pulumi program in Python can be."""

import pulumi  # noqa: F401 - its import is what is measured
