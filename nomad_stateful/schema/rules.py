"""Rules for known values of inputs, each refusal told as key, value, rule and remedy."""

import re
from collections.abc import Callable
from typing import Any

from nomad_stateful.plugin_server.plugin import CheckFailure
from nomad_stateful.plugin_server.values import Unknown, contains_unknown

Rule = Callable[[str, Any], list[CheckFailure]]
"""Takes a key and its value, None where it is missing; returns what is wrong with it."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_VOLUME_NAME = re.compile(_NAME.pattern + r"(\[[0-9]{1,4}\])?")
_NAME_RULE = "it must be 1 to 128 letters, digits, '.', '_' or '-', beginning with a letter or digit"
_PYTHON = {"string": str, "boolean": bool, "array": list, "object": dict}
_WORDS = {"string": "a string", "boolean": "true or false", "integer": "a whole number", "array": "a list"}


def name(example: str) -> Rule:
    """Returns the rule of an identifier, as Nomad and a path on disk can bear it."""
    return _matching(_NAME, f"{_NAME_RULE}. Use for example {example}")


def volume_name() -> Rule:
    """Returns the rule of a volume's id; one of a set ends in its number in brackets."""
    return _matching(_VOLUME_NAME, f"{_NAME_RULE}. Use for example orders, or data[0] in a set")


def aws_account() -> Rule:
    """Returns the rule of an AWS account's id, "" where it is not known."""
    return _matching(re.compile(r"([0-9]{12})?"), "it must be twelve digits in quotes. Use for example '012345678901'")


def not_empty(example: str) -> Rule:
    """Returns the rule of a text that says something."""
    return _matching(re.compile(r"\s*\S.*", re.DOTALL), f"it must not be empty. Use for example {example}")


def required_text(remedy: str) -> Rule:
    """Returns the rule of an argument without which there is nothing to ask for."""

    def failures(key: str, value: Any) -> list[CheckFailure]:
        if isinstance(value, str) and value:
            return []
        return [CheckFailure(key, f"{key} is required: {remedy}")]

    return failures


def whole_number(low: int, high: int, remedy: str) -> Rule:
    """Returns the rule of an integer between two bounds."""

    def failures(key: str, value: Any) -> list[CheckFailure]:
        if _is_integer(value) and low <= value <= high:
            return []
        return [
            CheckFailure(key, f"{key} is {_shown(value)}: it must be a whole number from {low} to {high}. {remedy}")
        ]

    return failures


def one_of(*choices: str) -> Rule:
    """Returns the rule of one of a few words."""

    def failures(key: str, value: Any) -> list[CheckFailure]:
        if value in choices:
            return []
        return [CheckFailure(key, f"{key} is {_shown(value)}: it must be one of {', '.join(choices)}")]

    return failures


def unique_names(remedy: str) -> Rule:
    """Returns the rule of a list of distinct, non-empty strings."""

    def failures(key: str, value: Any) -> list[CheckFailure]:
        if not isinstance(value, list):
            return [CheckFailure(key, f"{key} is {_shown(value)}: it must be a list. {remedy}")]
        found = []
        seen: set[str] = set()
        for index, item in enumerate(value):
            if contains_unknown(item):
                continue
            path = f"{key}[{index}]"
            if not isinstance(item, str) or not item.strip():
                found.append(CheckFailure(key, f"{path} is {_shown(item)}: it must be a name. {remedy}"))
            elif item in seen:
                found.append(CheckFailure(key, f"{path} is {_shown(item)}, which is in the list already. Name it once"))
            else:
                seen.add(item)
        return found

    return failures


def ids() -> Rule:
    """Returns the rule of a list of ids."""

    def failures(key: str, value: Any) -> list[CheckFailure]:
        if isinstance(value, list) and all(isinstance(one, str) and one for one in value):
            return []
        return [CheckFailure(key, f"{key} must be a list of ids")]

    return failures


def of_type(kind: str, items: str) -> Rule:
    """Returns the rule of a type of the schema; `items` is that of a list's or a map's values, "" for any.

    Values of maps, which may be secrets, are not shown.
    """

    def failures(key: str, value: Any) -> list[CheckFailure]:
        if kind == "object":
            return _map_failures(key, value, items)
        if not (_is_integer(value) if kind == "integer" else isinstance(value, _PYTHON[kind])):
            return [CheckFailure(key, f"{key} is {_shown(value)}: it must be {_WORDS[kind]}")]
        if kind != "array" or items != "string":
            return []
        wrong = [index for index, item in enumerate(value) if not isinstance(item, (str, Unknown))]
        return [CheckFailure("", f"{key}[{index}] is not a string. Write it as one") for index in wrong]

    return failures


def _map_failures(key: str, value: Any, items: str) -> list[CheckFailure]:
    if not isinstance(value, dict):
        return [
            CheckFailure("", f"{key} is {'missing' if value is None else 'not a map'}: it must be a map of {items}s")
        ]
    wrong = sorted(k for k, item in value.items() if items == "string" and not isinstance(item, (str, Unknown)))
    return [CheckFailure("", f"{key}.{item} is not a string. Write it as one") for item in wrong]


def _matching(pattern: re.Pattern[str], rule_and_remedy: str) -> Rule:
    def failures(key: str, value: Any) -> list[CheckFailure]:
        if isinstance(value, str) and pattern.fullmatch(value):
            return []
        return [CheckFailure(key, f"{key} is {_shown(value)}: {rule_and_remedy}")]

    return failures


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    """Returns a value for a message; what has several may hold a secret."""
    if isinstance(value, dict | list):
        return "a map" if isinstance(value, dict) else "a list"
    return "missing" if value is None else repr(value)
