"""Tests of the Pulumi program without an engine."""
