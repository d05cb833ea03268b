"""A stack's file says what is this stack's alone: without any of its keys, the plan is another one or none."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nomad_stateful.program import settings
from nomad_stateful.program.settings import SettingsError
from tests.unit.program.recorder import planned
from tests.unit.program.stack_files import FILES, stack

Keys = tuple[str | int, ...]


def keys_in(value: Any, keys: Keys = ()) -> Iterator[Keys]:
    """Yields the path of every key below a value."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield (*keys, key)
        yield from keys_in(inner, (*keys, key))


def without(config: dict[str, Any], keys: Keys) -> dict[str, Any]:
    """Returns a configuration with one key less."""
    copied = copy.deepcopy(config)
    target: Any = copied
    for key in keys[:-1]:
        target = target[key]
    del target[keys[-1]]
    return copied


def plan_of(config: dict[str, Any]) -> str | None:
    """Returns the plan as JSON; None where the settings are refused."""
    try:
        return planned(config).to_json()
    except SettingsError:
        return None


def repeated(config: dict[str, Any]) -> list[str]:
    """Returns the keys that change nothing."""
    plan = plan_of(config)
    return [".".join(map(str, keys)) for keys in keys_in(config) if plan_of(without(config, keys)) == plan]


def test_there_is_an_example_for_each_driver() -> None:
    stacks = [settings.parse(stack(file)) for file in FILES if file.parent.name == "examples"]
    assert {plugin.driver for one in stacks for plugin in one.plugins} == {"ebs", "efs", "democratic-csi", "hostpath"}


@pytest.mark.parametrize("file", FILES, ids=[file.name for file in FILES])
def test_no_key_repeats_its_default(file: Path) -> None:
    assert repeated(stack(file)) == []


@pytest.mark.parametrize(
    ("section", "more", "said"),
    [
        ("plugins", {"controllers": 2}, "plugins.0.controllers"),
        ("plugins", {"version": "v1.48.0"}, "plugins.0.version"),
        ("volumes", {"encrypted": True}, "volumes.0.encrypted"),
    ],
)
def test_a_key_that_repeats_its_default_is_found(section: str, more: dict[str, Any], said: str) -> None:
    config = stack(FILES[0])
    config[section][0] |= more
    assert repeated(config) == [said]
