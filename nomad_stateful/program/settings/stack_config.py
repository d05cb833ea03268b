"""Reads Pulumi's config: the settings as the stack's file has them, and which of them were set as secrets."""

from collections.abc import Callable
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import pulumi
from pulumi.runtime import config as pulumi_config

from nomad_stateful.program.settings import MODEL, PROJECT, Settings, parse, secret_places, secure
from nomad_stateful.program.settings.errors import NOT_SHOWN, Problem, SettingsError
from nomad_stateful.program.settings.types import Section

Completion = Callable[[dict[str, Any]], dict[str, Any]]
"""Fills in what a configuration leaves to be found out in AWS."""


def load(complete: Completion | None = None) -> Settings:
    """Returns the stack's settings; raises SettingsError naming every refused key."""
    config = _stack_config()
    keys = [key for key in config if pulumi_config.is_config_secret(f"{PROJECT}:{key}")]
    paths = secure.stored(Path(f"Pulumi.{pulumi.get_stack()}.yaml"), f"{PROJECT}:") if keys else {}
    misplaced = secure.problems(config, keys, paths, {key: list(secret_places(config, key)) for key in keys})
    if misplaced:
        raise SettingsError(misplaced)
    return parse(complete(config) if complete else config)


def _stack_config() -> dict[str, Any]:
    config = pulumi.Config(PROJECT)
    prefix = f"{PROJECT}:"
    keys = [key.removeprefix(prefix) for key in pulumi_config.CONFIG.get() if key.startswith(prefix)]
    values = {key: _value(config, key, MODEL) for key in keys}
    # The project file has to give what is optional a default, which can only be an empty one.
    return {key: value for key, value in values.items() if value not in ({}, "")}


def _value(config: pulumi.Config, key: str, model: type[Section]) -> Any:
    declared = {field.alias: field for field in model.model_fields.values()}.get(key)
    if not config.get(key):
        return ""
    if declared is None or _is_text(declared.annotation):
        return config.get(key)
    try:
        return config.get_object(key)
    except pulumi.ConfigTypeError:
        problem = Problem(key, NOT_SHOWN, "must be a value in JSON", f"set its parts by --path {PROJECT}:{key}.…")
        raise SettingsError([problem]) from None


def _is_text(annotation: Any) -> bool:
    """Returns whether a setting is a text, with rules of its own or not set, and no map or list in JSON."""
    parts = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    kinds = [get_args(part)[0] if get_origin(part) is Annotated else part for part in parts]
    return set(kinds) <= {str, type(None)}
