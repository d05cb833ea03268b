"""Which properties of a resource would change, from what to what."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from tools.preview_report.document import State, Step
from tools.preview_report.values import MISSING, SECRET, has_secret, shown

_PART: Final = re.compile(r'\["((?:[^"\\]|\\.)*)"\]|\[(\d+)\]|\.?([^.\[]+)')


@dataclass(frozen=True)
class Change:
    """A property: its path, its value now and then (empty: none), and whether it forces a replacement."""

    path: str
    old: str
    new: str
    replaces: bool = False


def changes(step: Step) -> list[Change]:
    """The properties that change, by path; for a resource that is made or goes, the ones it has."""
    if step.detailed:
        found = [change for path, kind in step.detailed.items() for change in _detailed(step, path, kind)]
    else:
        old, new = _inputs(step.old), _inputs(step.new)
        if step.old is not None and step.new is None:
            old, new = {}, {}
        replaces = step.reasons if step.operation in ("replace", "create-replacement", "delete-replaced") else ()
        found = [
            Change(path, before, after, path.split(".")[0] in replaces)
            for path, before, after in _differences(old, new, "")
        ]
    return sorted(found, key=lambda change: change.path)


def _detailed(step: Step, path: str, kind: dict[str, Any]) -> Iterator[Change]:
    keys = parse_path(path)
    by_input = bool(kind.get("inputDiff"))
    old, new = _look_up(step.old, keys, by_input), _look_up(step.new, keys, True)
    if str(kind.get("kind", "")).startswith("delete"):
        new = MISSING
    if str(kind.get("kind", "")).startswith("add"):
        old = MISSING
    replaces = str(kind.get("kind", "")).endswith("replace") or (bool(keys) and keys[0] in step.reasons)
    # Nothing is left where a provider counts as changed what only may change.
    for where, before, after in _differences(old, new, path):
        yield Change(where, before, after, replaces)


def parse_path(path: str) -> list[str | int]:
    """The keys of a path such as `a.b[0]["c.d"]`."""
    keys: list[str | int] = []
    for quoted, index, name in _PART.findall(path):
        keys.append(int(index) if index else name or quoted.replace('\\"', '"'))
    return keys


def _inputs(state: State | None) -> dict[str, Any]:
    return {} if state is None else state.inputs


def _look_up(state: State | None, keys: list[str | int], inputs_first: bool) -> Any:
    if state is None:
        return MISSING
    for properties in (state.inputs, state.outputs) if inputs_first else (state.outputs, state.inputs):
        value: Any = properties
        for key in keys:
            if value == SECRET:
                return SECRET
            try:
                value = value[key]
            except (KeyError, IndexError, TypeError):
                value = MISSING
                break
        if value is not MISSING:
            return value
    return MISSING


def _differences(old: Any, new: Any, path: str) -> Iterator[tuple[str, str, str]]:
    """The smallest differing parts, looked for inside values that are JSON in a string too."""
    before, after = _opened(old), _opened(new)
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            yield from _differences(before.get(key, MISSING), after.get(key, MISSING), f"{path}.{key}" if path else key)
    elif before != after:
        yield (path, *_shown_pair(old, new))


def _opened(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("{"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _shown_pair(old: Any, new: Any) -> tuple[str, str]:
    # What was written in clear before it became a secret may still be in use.
    if has_secret(old) or has_secret(new):
        return tuple("" if value is MISSING else SECRET for value in (old, new))  # type: ignore[return-value]
    return shown(old), shown(new)
