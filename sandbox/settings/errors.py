"""What is wrong with what a user gave or with the machine."""

from __future__ import annotations


class SandboxError(Exception):
    """Something the user can fix; its text is the whole message."""


class SettingsError(SandboxError):
    """A setting that breaks a rule: names the key, its value, the rule and the remedy."""

    def __init__(self, key: str, value: object, rule: str, remedy: str) -> None:
        super().__init__(f"{key} is {value!r}: {rule}. {remedy}")
        self.key = key
