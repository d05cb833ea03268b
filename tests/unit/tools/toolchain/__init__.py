"""Tests of how the toolchain and the system packages are provided."""
