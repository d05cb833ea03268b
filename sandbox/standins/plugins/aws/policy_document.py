"""Rendering of IAM policy documents from statements, and merging of documents: pure, the order of everything fixed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

Document = dict[str, Any]
Statement = dict[str, Any]

DEFAULT_VERSION: Final = "2012-10-17"
VERSIONS: Final = ("2008-10-17", DEFAULT_VERSION)

_KEY_ORDER: Final = (
    "Sid", "Effect", "Action", "NotAction", "Resource", "NotResource", "Principal", "NotPrincipal", "Condition",
)  # fmt: skip


class DocumentError(ValueError):
    """The arguments do not make a policy document; the text says why."""


def render(
    statements: Sequence[dict[str, Any]],
    *,
    version: str = DEFAULT_VERSION,
    policy_id: str = "",
    sources: Sequence[str] = (),
    overrides: Sequence[str] = (),
) -> Document:
    """Returns the document of `statements` (in the terms of the function's arguments) laid over `sources`.

    A statement replaces the one of the same Sid below it; `overrides` are laid over the result.
    """
    document = _merged_sources(sources)
    own = [_statement(statement, version) for statement in statements]
    _refuse_duplicates(own)
    _lay_over(document, {"Version": version, "Id": policy_id, "Statement": own})
    for override in overrides:
        _lay_over(document, _parsed(override))
    return {key: document[key] for key in ("Version", "Id", "Statement") if document.get(key)}


def _merged_sources(sources: Iterable[str]) -> Document:
    document: Document = {"Version": "", "Id": "", "Statement": []}
    seen: set[str] = set()
    for number, source in enumerate(sources):
        parsed = _parsed(source)
        for statement in parsed["Statement"]:
            sid = statement.get("Sid")
            if sid and sid in seen:
                raise DocumentError(
                    f"merging source document {number}: duplicate Sid ({sid}). "
                    "Remove the Sid or ensure the Sid is unique."
                )
            seen.add(sid or "")
        _lay_over(document, parsed)
    return document


def _lay_over(document: Document, upper: Document) -> None:
    document["Version"] = max(document["Version"], upper.get("Version") or "")
    document["Id"] = upper.get("Id") or document["Id"]
    places = {item["Sid"]: place for place, item in enumerate(document["Statement"]) if item.get("Sid")}
    for statement in upper["Statement"]:
        sid = statement.get("Sid")
        if sid in places:
            document["Statement"][places[sid]] = statement
            continue
        document["Statement"].append(statement)
        if sid:
            places[sid] = len(document["Statement"]) - 1


def _refuse_duplicates(statements: Iterable[Statement]) -> None:
    seen: set[str] = set()
    for statement in statements:
        sid = statement.get("Sid")
        if sid and sid in seen:
            raise DocumentError(f"duplicate Sid ({sid}). Remove the Sid or ensure the Sid is unique.")
        seen.add(sid or "")


def _statement(arguments: dict[str, Any], version: str) -> Statement:
    effect = arguments.get("effect") or "Allow"
    if effect not in ("Allow", "Deny"):
        raise DocumentError(f"expected effect to be one of Allow, Deny, got {effect}")

    def variables(values: Iterable[Any]) -> list[str]:
        return [_with_variables(str(value), version) for value in values]

    parts = {
        "Sid": arguments.get("sid"),
        "Effect": effect,
        "Action": _set(arguments.get("actions")),
        "NotAction": _set(arguments.get("notActions")),
        "Resource": _set(variables(arguments.get("resources") or ())),
        "NotResource": _set(variables(arguments.get("notResources") or ())),
        "Principal": _principals(arguments.get("principals"), version),
        "NotPrincipal": _principals(arguments.get("notPrincipals"), version),
        "Condition": _conditions(arguments.get("conditions"), version),
    }
    return {key: value for key, value in parts.items() if value}


def _with_variables(text: str, version: str) -> str:
    """Returns text with `&{...}`, which programs write for IAM's own variables, as `${...}`."""
    if "&{" not in text:
        return text
    if version == VERSIONS[0]:
        raise DocumentError(f"found &{{ sequence in ({text}), which is not supported in document version {version}")
    return text.replace("&{", "${")


def _set(values: Any) -> str | list[str] | None:
    """Returns a set of strings as IAM JSON: one as it is, several in descending order."""
    unique = sorted({str(value) for value in values or ()}, reverse=True)
    return unique[0] if len(unique) == 1 else unique or None


def _principals(principals: Any, version: str) -> Any:
    merged: dict[str, list[str]] = {}
    for principal in principals or ():
        identifiers = [_with_variables(str(item), version) for item in principal.get("identifiers") or ()]
        merged.setdefault(str(principal["type"]), []).extend(identifiers)
    if merged == {"*": ["*"]}:
        return "*"
    return {kind: _set(merged[kind]) or [] for kind in sorted(merged)} or None


def _conditions(conditions: Any, version: str) -> dict[str, Any] | None:
    merged: dict[str, dict[str, list[str]]] = {}
    for condition in conditions or ():
        values = [_with_variables(str(value), version) for value in condition.get("values") or ()]
        merged.setdefault(condition["test"], {}).setdefault(condition["variable"], []).extend(values)
    return {test: {key: _single(keys[key]) for key in sorted(keys)} for test, keys in sorted(merged.items())} or None


def _single(values: list[str]) -> str | list[str]:
    return values[0] if len(values) == 1 else values


def _parsed(text: str) -> Document:
    """Returns a document given as JSON, with its statements in the order of keys that rendering uses."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise DocumentError(f"a source or override document is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise DocumentError("a source or override document is not a JSON object")
    statements = document.get("Statement") or []
    listed = statements if isinstance(statements, list) else [statements]
    return {**document, "Statement": [_reordered(statement) for statement in listed]}


def _reordered(statement: Statement) -> Statement:
    result = {key: statement[key] for key in _KEY_ORDER if statement.get(key)}
    for key in ("Action", "NotAction", "Resource", "NotResource"):
        if isinstance(result.get(key), list):
            result[key] = _single(result[key])
    for key in ("Principal", "NotPrincipal"):
        if isinstance(result.get(key), dict):
            kinds = result[key]
            result[key] = {
                kind: _set([kinds[kind]] if isinstance(kinds[kind], str) else kinds[kind]) for kind in sorted(kinds)
            }
    if "Condition" in result:
        tests = result["Condition"]
        result["Condition"] = {
            test: {key: _single(value) if isinstance(value, list) else value for key, value in sorted(keys.items())}
            for test, keys in sorted(tests.items())
        }
    return result
