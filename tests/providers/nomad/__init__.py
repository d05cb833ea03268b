"""The embedded nomad plugin against a Nomad agent of the tests' own."""
