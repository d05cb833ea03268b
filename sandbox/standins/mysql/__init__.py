"""The sandbox's MySQL: the machine's own server behind the official image's entrypoint, in a small root of its own."""
