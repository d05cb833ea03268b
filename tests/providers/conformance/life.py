"""One resource in its world: what is checked, made and read, in the words of the engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from nomad_stateful.plugin_server.values import UNKNOWN, Props
from tests.providers.conformance.subjects import TypeSubject
from tests.providers.conformance.tables import TYPES
from tests.providers.conformance.worlds import World
from tests.providers.harness import DiffResult, Resource


def of(concerned: Callable[[TypeSubject], bool]) -> pytest.MarkDecorator:
    """Asks only the types that a promise concerns."""
    subjects = [subject for subject in TYPES if concerned(subject)]
    return pytest.mark.parametrize("subject", subjects, ids=[subject.label for subject in subjects])


EMPTY: tuple[Any, ...] = (None, "", 0, False, [], {})
"""Values that say no more than a missing one."""


def visible(value: Any) -> Any:
    """Returns the value without nulls, and without what plugins keep for themselves: "__defaults", "__meta"."""
    if isinstance(value, dict):
        kept = {name: visible(one) for name, one in value.items() if not name.startswith("__")}
        return {name: one for name, one in kept.items() if one not in (None, [], {})}
    return [visible(one) for one in value] if isinstance(value, list) else value


def keeps(planned: Any, made: Any) -> bool:
    """Whether what was planned came true; what was unknown may be anything."""
    if planned is UNKNOWN or (planned in EMPTY and made in EMPTY):
        return True
    if isinstance(planned, dict) and isinstance(made, dict):
        return all(keeps(value, made.get(name)) for name, value in planned.items())
    if isinstance(planned, list) and isinstance(made, list) and len(planned) == len(made):
        return all(keeps(*pair) for pair in zip(planned, made, strict=True))
    return bool(planned == made)


def spellings(name: str) -> str:
    """Returns a pattern for a property's name, as programs of any language write it."""
    snake_case = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
    return f"{name}|{snake_case}"


def checked(world: World, subject: TypeSubject, given: Props, olds: Props | None = None) -> Props:
    """The inputs as the plugin completes them."""
    result = world.plugin.check(subject.token, given, olds)
    assert result.failures == []
    return result.inputs.props


@dataclass(frozen=True)
class Made:
    """A resource that was made, what the program gave for it, and what the engine keeps."""

    world: World
    subject: TypeSubject
    given: Props
    inputs: Props
    resource: Resource

    @property
    def state(self) -> Props:
        """The outputs."""
        return self.resource.outputs.props

    def diff(self, news: Props, state: Props | None = None, inputs: Props | None = None) -> DiffResult:
        """What an update to checked inputs would change."""
        plugin, token = self.world.plugin, self.subject.token
        return plugin.diff(token, self.resource.id, state or self.state, inputs or self.inputs, news)

    def changed(self, **change: Any) -> Props:
        """Checked inputs with a change."""
        return checked(self.world, self.subject, self.given | change, self.inputs)

    def read(self) -> Resource | None:
        """The resource as it is now."""
        return self.world.plugin.read(self.subject.token, self.resource.id, self.inputs, self.state)

    def delete(self) -> None:
        """Deletes it, within the shortest time in which a CSI volume is tried at all."""
        self.world.plugin.delete(self.subject.token, self.resource.id, self.state, timeout_s=61)


def make(world: World, subject: TypeSubject, **change: Any) -> Made:
    """Makes a resource with the subject's inputs."""
    given = subject.inputs(world) | change
    inputs = checked(world, subject, given)
    return Made(world, subject, given, inputs, world.plugin.create(subject.token, inputs))
