"""Constraints as Nomad takes them: operators, and what each of them compares with."""

import re
from collections.abc import Callable, Mapping

from pydantic_core import SchemaError, SchemaValidator, core_schema

_VERSION = r"v?[0-9]{1,9}(\.[0-9]{1,9}){0,2}(-[0-9A-Za-z.]*[0-9A-Za-z])?"
_VERSIONS = re.compile(rf"\s*(=|!=|>=|<=|>|<|~>)?\s*{_VERSION}\s*(,\s*(=|!=|>=|<=|>|<|~>)?\s*{_VERSION}\s*)*")
_SEMANTIC = r"[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}(-[0-9A-Za-z.]*[0-9A-Za-z])?"
_SEMANTICS = re.compile(rf"\s*(=|!=|>=|<=|>|<)?\s*{_SEMANTIC}\s*(,\s*(=|!=|>=|<=|>|<)?\s*{_SEMANTIC}\s*)*")
# What Go's expressions lack of those that the check below is made with, beside repetitions beyond 1000.
_NOT_GO = re.compile(
    r"\\[^dDwWsSbBAzafnrtv.+*?()|\[\]{}^$\\/\-]|\\b\{|\(\?[a-zA-Z-]*[xuUR]|\(\?<|&&|--|~~|\[[^\]]*\[(?!:)|\{,|[0-9]{4}"
)

Rule = tuple[str, str]
"""What an operator compares with, and its remedy."""


def value_problem(operator: str, value: str) -> Rule | None:
    """Returns what is wrong with a constraint's value; None when Nomad takes it."""
    takes, rule, remedy = OPERATORS[operator]
    return None if takes(value) else (rule, remedy)


def _expression(text: str) -> bool:
    """Returns whether a text is a regular expression in Go: what Rust takes too, whose are of the same family."""
    try:
        SchemaValidator(core_schema.str_schema(pattern=text))
    except SchemaError:
        return False
    return not _NOT_GO.search(text)


_ANY: tuple[Callable[[str], bool], str, str] = (bool, "this operator compares with a value", "set value")
_NONE = (lambda text: not text, "this operator compares with nothing", "leave value empty")
_PROPERTY = (
    lambda text: re.fullmatch(r"([1-9][0-9]{0,8})?", text) is not None,
    "must be how many allocations may share the property",
    "write a number from 1, or leave it empty for 1",
)

OPERATORS: Mapping[str, tuple[Callable[[str], bool], str, str]] = {
    **dict.fromkeys(("=", "==", "is", "!=", "not", "<", "<=", ">", ">="), _ANY),
    **dict.fromkeys(("set_contains", "set_contains_all", "set_contains_any"), _ANY),
    "regexp": (_expression, "must be a regular expression as in Go (RE2)", "correct it, as in ^(a|b)$"),
    "version": (
        lambda text: _VERSIONS.fullmatch(text) is not None,
        "must be versions with comparisons",
        "write it as in >= 1.2, < 2.0",
    ),
    "semver": (
        lambda text: _SEMANTICS.fullmatch(text) is not None,
        "must be whole versions with comparisons",
        "write it as in >= 1.2.0, < 2.0.0",
    ),
    "is_set": _NONE,
    "is_not_set": _NONE,
    "distinct_hosts": (
        lambda text: text in ("", "true", "false"),
        "must be true or false",
        "write true or false in quotes, or leave it empty",
    ),
    "distinct_property": _PROPERTY,
}
"""The operators, and for each what tells whether a value fits, the rule and the remedy."""
