"""IAM policy documents as text: one normal form, and whether two texts mean the same policy."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

_GO_ESCAPES: Final = {"&": "\\u0026", "<": "\\u003c", ">": "\\u003e", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_ACCOUNT_ROOT: Final = re.compile(r"^arn:aws[\w-]*:iam::(\d{12}):root$")
_SET_KEYS: Final = ("Action", "NotAction", "Resource", "NotResource")


def go_json(value: Any) -> str:
    """Returns `value` as Go's encoding/json writes it: raw non-ASCII, but HTML-sensitive characters escaped."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return "".join(_GO_ESCAPES.get(character, character) for character in text)


def normalise(text: str) -> str:
    """Returns a JSON text compact and with sorted keys, the form kept in state; ValueError when it is not JSON."""
    return go_json(_sorted(json.loads(text)))


def normalise_version_first(text: str) -> str:
    """Returns the normal form with "Version" as first key, the form in which inline role policies are stored."""
    document = _sorted(json.loads(text))
    if isinstance(document, dict) and "Version" in document:
        document = {"Version": document.pop("Version"), **document}
    return go_json(document)


def problem(text: str) -> str | None:
    """Says what is wrong with a policy text, or None: it has to be a JSON object."""
    if not text.lstrip().startswith("{"):
        return "contains an invalid JSON policy: a policy starts with '{' (leading spaces aside)"
    try:
        json.loads(text)
    except ValueError as error:
        return f"contains an invalid JSON policy: {error}"
    return None


def equivalent(one: str, other: str) -> bool:
    """Tells whether two policy texts mean the same: order of lists, single value or list, account id or root ARN."""
    if one == other:
        return True
    try:
        return _canonical_document(json.loads(one)) == _canonical_document(json.loads(other))
    except (ValueError, TypeError, AttributeError):
        return False


def kept(text: Any, actual: str) -> str:
    """Returns the text known of a policy while it still means what AWS has, else what AWS has."""
    return text if isinstance(text, str) and equivalent(text, actual) else actual


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    return value


def _canonical_document(document: dict[str, Any]) -> dict[str, Any]:
    rest = {key: value for key, value in document.items() if key != "Statement"}
    statements = [_canonical_statement(statement) for statement in _as_list(document.get("Statement"))]
    return {**rest, "Statement": sorted(statements, key=lambda item: json.dumps(item, sort_keys=True))}


def _canonical_statement(statement: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in statement.items():
        if key in _SET_KEYS:
            result[key] = _string_set(value)
        elif key in ("Principal", "NotPrincipal"):
            result[key] = _canonical_principal(value)
        elif key == "Condition":
            result[key] = _canonical_condition(value)
        elif not (key == "Sid" and not value):
            result[key] = value
    return result


def _canonical_principal(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {kind: _string_set(ids, _account_id if kind == "AWS" else None) for kind, ids in value.items()}


def _canonical_condition(value: dict[str, Any]) -> dict[str, Any]:
    return {test: {key: _string_set(values) for key, values in keys.items()} for test, keys in value.items()}


def _string_set(value: Any, fold: Callable[[str], str] | None = None) -> list[str]:
    texts = {_text(item) for item in _as_list(value)}
    return sorted(texts if fold is None else {fold(text) for text in texts})


def _account_id(principal: str) -> str:
    found = _ACCOUNT_ROOT.match(principal)
    return found.group(1) if found else principal


def _text(value: Any) -> str:
    # IAM itself reads true and "true", 5 and "5" alike in conditions
    return value if isinstance(value, str) else json.dumps(value)


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
