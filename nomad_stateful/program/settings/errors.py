"""How a refused setting is reported: key, value, rule, remedy."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from nomad_stateful.pages import located
from nomad_stateful.visible import visible


@dataclass(frozen=True)
class Problem:
    """One refused setting."""

    key: str
    value: str
    rule: str
    remedy: str

    def __str__(self) -> str:
        text = f"{self.key} is {self.value}: {self.rule}. {self.remedy[:1].upper()}{self.remedy[1:]}."
        return visible(located(text))


class SettingsError(Exception):
    """Every problem of a configuration."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = list(problems)
        count = len(self.problems)
        heading = f"{count} setting{'s' if count > 1 else ''} refused; nothing was created:"
        super().__init__("\n  - ".join([heading, *map(str, self.problems)]))


def Refusal(key: str, value: Any, rule: str, remedy: str) -> PydanticCustomError:  # noqa: N802 - raised like a class
    """Returns the error to raise from a model validator for a rule that spans several keys."""
    return PydanticCustomError("refusal", "{rule}", {"key": key, "value": value, "rule": rule, "remedy": remedy})


NOT_SHOWN = "a value that is not shown"
Private = Callable[[Sequence[str]], bool]
"""Says of a setting's path whether a secret may stand there."""


def shown(value: Any, *, private: bool = False) -> str:
    """Returns what a message may say of a value: nothing of a private one, nor of a key or certificate in PEM.

    It is shortened, and control characters are made visible.
    """
    if value is None:
        return "not set"
    text = value if isinstance(value, str) else repr(value)
    if private or "-----BEGIN" in text:
        return NOT_SHOWN
    text = visible(text)
    if not text:
        return "empty"
    return text if len(text) <= 80 else text[:77] + "..."


# What pydantic's error types mean, as (rule, remedy); {…} is filled from the error's context.
RULES: dict[str, tuple[str, str]] = {
    "missing": ("it is required", "set it"),
    "int_type": ("must be a whole number", "write it as digits without quotes or fraction"),
    "int_from_float": ("must be a whole number", "write it without a fraction"),
    "bool_type": ("must be true or false", "write true or false without quotes"),
    "string_type": ("must be a string", "write it in quotes"),
    "list_type": ("must be a list", "write it as a YAML list"),
    "dict_type": ("must be a map", "write it as a YAML map"),
    "model_type": ("must be a map of settings", "write it as a YAML map"),
    "literal_error": ("must be one of {expected}", "use one of these"),
    "greater_than_equal": ("must be at least {ge}", "use {ge} or more"),
    "less_than_equal": ("must be at most {le}", "use {le} or less"),
    "string_too_short": ("must have at least {min_length} character", "write it"),
    "string_pattern_mismatch": ("must match {pattern}", "correct it"),
    "too_long": ("must have at most {max_length} entries", "remove some"),
    "too_short": ("must have at least {min_length} entry", "add one"),
}


HALF_CHARACTER = ("must be valid Unicode", "remove the half character")
"""Rule and remedy for half of a surrogate pair, which JSON can express and nothing else takes."""


def half_characters(value: Any, private: Private, path: Sequence[str] = ()) -> Iterator[Problem]:
    """Yields the problem of each key and text below a path that is not valid Unicode."""
    if isinstance(value, str) and any("\ud800" <= char <= "\udfff" for char in value):
        yield Problem(".".join(path) or shown(value), shown(value, private=private(path)), *HALF_CHARACTER)
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in entries:
        below = [*path, shown(str(key))]
        if isinstance(key, str):
            yield from half_characters(key, lambda _: False, below)
        yield from half_characters(item, private, below)


def problems_of(
    error: ValidationError, config: dict[str, Any], rules: dict[str, str], private: Private
) -> list[Problem]:
    """Returns the problems behind a validation error; ``rules`` has the wording of a field's own rule by its path."""
    return [_problem(details, config, rules, private) for details in error.errors(include_url=False)]


def _problem(details: ErrorDetails, config: dict[str, Any], rules: dict[str, str], private: Private) -> Problem:
    path = path_of(details["loc"], config)
    context = details.get("ctx", {})
    kind = details["type"]
    if kind == "refusal":
        key = ".".join([*path, context["key"]] if context["key"] else path)
        # The name of an entry stands in its path too.
        hidden = details["loc"][-1:] != ("[key]",) and private(key.split("."))
        return Problem(key, _value(context["value"], hidden), context["rule"], context["remedy"])
    key = ".".join(path)
    if kind == "extra_forbidden":
        # What a misspelled setting would have held is not known.
        rule = "there is no such setting"
        return Problem(key, "set", rule, "remove it, or correct its spelling (docs/config.md lists them all)")
    rule, remedy = RULES.get(kind, (details["msg"], "correct it"))
    own_rule = rules.get(".".join(part for part in details["loc"] if isinstance(part, str)))
    if own_rule and kind in ("string_pattern_mismatch", "string_too_short", "int_type", "greater_than_equal"):
        rule, remedy = own_rule, "correct it"
    value = None if kind == "missing" else details["input"]
    return Problem(key, _value(value, private(path)), rule.format_map(context), remedy.format_map(context))


def _value(value: Any, hidden: bool) -> str:
    if isinstance(value, dict | list):
        return "a map" if isinstance(value, dict) else "a list"
    return shown(value, private=hidden)


def path_of(location: tuple[int | str, ...], config: Any) -> list[str]:
    """Returns the path of a setting, where an entry of a list goes by its name if it has one."""
    path: list[str] = []
    for part in location:
        if isinstance(part, int):
            entry = config[part] if isinstance(config, list) and part < len(config) else None
            named = (entry.get("name") or entry.get("id")) if isinstance(entry, dict) else None
            path.append(shown(named) if isinstance(named, str) and named else str(part))
            config = entry
        elif part != "[key]":  # the name of an entry is a part of the path already
            path.append(shown(part))
            config = config.get(part) if isinstance(config, dict) else None
    return path
