"""What can go wrong while the toolchain is being provided."""

from __future__ import annotations


class ToolchainError(Exception):
    """A requirement that is not met: names the key, its value, the rule and the remedy."""

    def __init__(self, key: str, value: object, rule: str, remedy: str) -> None:
        super().__init__(f"{key} is {value!r}: {rule}. {remedy}")
        self.key = key
        self.value = value


class UnreachableError(ToolchainError):
    """The publisher's server cannot be reached from here; another way may still work."""
