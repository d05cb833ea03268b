"""Checks of inputs, each told as key, value, rule and remedy; unknown values pass until they are known."""

from __future__ import annotations

import re
from typing import Any

from nomad_stateful.plugin_server.plugin import CheckFailure, InvokeFailure, Props
from nomad_stateful.plugin_server.values import Unknown, contains_unknown

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_VOLUME_NAME = re.compile(_NAME.pattern + r"(\[[0-9]{1,4}\])?")


def unknown_keys(props: Props, known: frozenset[str]) -> list[CheckFailure]:
    """Inputs nobody would read."""
    return [
        CheckFailure(key, f"{key} is not an input here. The inputs are {', '.join(sorted(known))}")
        for key in props
        if key not in known and not key.startswith("__")
    ]


def known_arguments(args: Props, known: frozenset[str]) -> None:
    """Raises InvokeFailure for a function's argument that it does not have."""
    for failure in unknown_keys(args, known):
        raise InvokeFailure(failure.property, failure.reason)


def name(props: Props, key: str, example: str) -> list[CheckFailure]:
    """A required identifier, as Nomad and a path on disk can bear it."""
    value = props.get(key)
    if isinstance(value, Unknown) or (isinstance(value, str) and _NAME.fullmatch(value)):
        return []
    rule = "it must be 1 to 128 letters, digits, '.', '_' or '-', beginning with a letter or digit"
    return [CheckFailure(key, f"{key} is {_shown(value)}: {rule}. Use for example {example}")]


def volume_name(props: Props, key: str) -> list[CheckFailure]:
    """A required volume's id; one of a set ends in its number in brackets."""
    value = props.get(key)
    if isinstance(value, Unknown) or (isinstance(value, str) and _VOLUME_NAME.fullmatch(value)):
        return []
    rule = "it must be 1 to 128 letters, digits, '.', '_' or '-', beginning with a letter or digit"
    return [CheckFailure(key, f"{key} is {_shown(value)}: {rule}. Use for example mysql, or data[0] in a set")]


def aws_account(props: Props, key: str) -> list[CheckFailure]:
    """An AWS account's id, "" where it is not known."""
    value = props.get(key)
    if isinstance(value, Unknown) or (isinstance(value, str) and re.fullmatch(r"([0-9]{12})?", value)):
        return []
    return [
        CheckFailure(
            key, f"{key} is {_shown(value)}: it must be twelve digits in quotes. Use for example '012345678901'"
        )
    ]


def whole_number(props: Props, key: str, low: int, high: int, remedy: str) -> list[CheckFailure]:
    """An integer between two bounds."""
    value = props.get(key)
    if isinstance(value, Unknown):
        return []
    if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
        return []
    return [CheckFailure(key, f"{key} is {_shown(value)}: it must be a whole number from {low} to {high}. {remedy}")]


def one_of(props: Props, key: str, choices: tuple[str, ...]) -> list[CheckFailure]:
    """One of a few words."""
    value = props.get(key)
    if isinstance(value, Unknown) or value in choices:
        return []
    return [CheckFailure(key, f"{key} is {_shown(value)}: it must be one of {', '.join(choices)}")]


def unique_strings(props: Props, key: str, remedy: str) -> list[CheckFailure]:
    """A list of distinct, non-empty strings."""
    value = props.get(key)
    if isinstance(value, Unknown):
        return []
    if not isinstance(value, list):
        return [CheckFailure(key, f"{key} is {_shown(value)}: it must be a list. {remedy}")]
    failures = []
    seen: set[str] = set()
    for index, item in enumerate(value):
        if contains_unknown(item):
            continue
        path = f"{key}[{index}]"
        if not isinstance(item, str) or not item.strip():
            failures.append(CheckFailure(key, f"{path} is {_shown(item)}: it must be a name. {remedy}"))
        elif item in seen:
            failures.append(CheckFailure(key, f"{path} is {_shown(item)}, which is in the list already. Name it once"))
        else:
            seen.add(item)
    return failures


def string_map(props: Props, key: str) -> list[CheckFailure]:
    """A map from strings to strings."""
    value = props.get(key)
    if isinstance(value, Unknown):
        return []
    if not isinstance(value, dict):
        return [CheckFailure(key, f"{key} is {_shown(value)}: it must be a map of strings")]
    bad = sorted(k for k, item in value.items() if not isinstance(item, (str, Unknown)))
    return [CheckFailure("", f"{key}.{item} is not a string. Write it as one") for item in bad]


def _shown(value: Any) -> str:
    return "missing" if value is None else repr(value)
