"""Tests of the stand-in aws plugin."""
