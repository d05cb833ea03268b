"""Checks a resource's inputs against its fields, and fills in defaults as the official plugin records them."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from nomad_stateful.plugin_server.plugin import CheckFailure, InvokeFailure, Props
from nomad_stateful.plugin_server.values import UNKNOWN
from nomad_stateful.waiting import Context

Shape = Literal["string", "bool", "map", "object", "list"]
DEFAULTS = "__defaults"
"""Names of the inputs that the plugin filled in, kept beside them: a filled-in name stays stable that way."""
NAME_LIMIT = 255

_PYTHON: dict[Shape, type] = {
    "string": str,
    "bool": bool,
    "map": dict,
    "object": dict,
    "list": list,
}
_BOOLS = {"true": True, "false": False}


@dataclass(frozen=True)
class Field:
    """One input: its shape, whether it must be there, its default."""

    shape: Shape
    required: bool = False
    default: Any = None


def known_arguments(args: Props, known: frozenset[str]) -> None:
    """Refuses an argument that a function does not have; raises InvokeFailure."""
    for key in args:
        if key not in known and not key.startswith("__"):
            raise InvokeFailure(key, f"{key} is not an input here. The inputs are {', '.join(sorted(known))}")


def checked(fields: Mapping[str, Field], news: Props, token: str) -> tuple[Props, list[CheckFailure]]:
    """Inputs without nulls and with defaults, and what is wrong with them."""
    inputs: Props = {}
    failures: list[CheckFailure] = []
    for name, value in plain(news).items():
        if name not in fields:
            failures.append(CheckFailure("", f"{name} is not an input of {token}: remove it"))
            continue
        field = fields[name]
        typed = _BOOLS.get(value, value) if field.shape == "bool" and isinstance(value, str) else value
        inputs[name] = typed
        failures += _shape_failures(name, field, typed)
    missing = [name for name, field in fields.items() if field.required and name not in inputs]
    failures += [CheckFailure(name, f"{name} is required by {token}: set it") for name in missing]
    defaulted = [name for name, field in fields.items() if field.default is not None and name not in inputs]
    for name in defaulted:
        inputs[name] = fields[name].default
    return inputs | {DEFAULTS: sorted(defaulted)}, failures


def autoname(ctx: Context, olds: Props, inputs: Props) -> Props:
    """Inputs with a `name`: the given one, else the one made up before, else `<logical name>-<7 hex digits>`."""
    if "name" in inputs:
        return inputs
    made_up = DEFAULTS not in olds or "name" in olds[DEFAULTS]
    name = olds["name"] if made_up and olds.get("name") else _new_name(ctx)
    return inputs | {"name": name, DEFAULTS: sorted([*inputs.get(DEFAULTS, []), "name"])}


def is_autonamed(inputs: Props) -> bool:
    """Whether the plugin made up the name."""
    return "name" in inputs.get(DEFAULTS, [])


def plain(value: Any) -> Any:
    """The value without nulls and without the engine's and the official plugin's bookkeeping keys."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items() if v is not None and not k.startswith("__")}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def pick(props: Props, names: Iterable[str]) -> Props:
    """The properties of these names that are set."""
    return {name: props[name] for name in names if props.get(name) is not None}


def refreshed_inputs(old_inputs: Props, outputs: Props) -> Props:
    """Inputs as they really are now: only what was given or filled in before takes its value from the outputs."""
    return {k: outputs[k] if not k.startswith("__") and k in outputs else v for k, v in old_inputs.items()}


def _new_name(ctx: Context) -> str:
    digits = ctx.random_seed.hex()[:7] if ctx.random_seed else secrets.token_hex(4)[:7]
    return f"{ctx.name[: NAME_LIMIT - 8]}-{digits}"


def _shape_failures(name: str, field: Field, value: Any) -> list[CheckFailure]:
    if value is UNKNOWN:
        return []
    if not isinstance(value, _PYTHON[field.shape]):
        # An empty property keeps the engine from printing the value
        return [CheckFailure("", f"{name} must be a {field.shape}, not {type(value).__name__}")]
    if field.shape == "map" and isinstance(value, dict):
        wrong = sorted(k for k, v in value.items() if v is not UNKNOWN and not isinstance(v, str))
        return [CheckFailure("", f"{name}.{key} must be a string: write it in quotes") for key in wrong]
    if field.required and value == "":
        return [CheckFailure(name, f"{name} must not be empty")]
    return []
