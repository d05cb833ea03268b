"""Whether what the project depends on is pinned, is what is installed, may be used, and has no known vulnerability.

`python -m tools.audit` (a part of `make check`).
"""
