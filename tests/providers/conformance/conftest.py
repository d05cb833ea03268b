"""One plugin of each kind for the whole run, on memory alone; every test finds its world empty and its plugin alive."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import closing_lines, official_parts
from tests.providers.conformance import differences
from tests.providers.conformance.subjects import FunctionSubject, TypeSubject
from tests.providers.conformance.tables import FUNCTIONS, TYPES
from tests.providers.conformance.worlds import OFFICIAL, World, executable, implementations, names, world
from tests.providers.plugin_path import is_ours
from tools import toolchain


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Asks every type, every function and every plugin."""
    for name, values in (("subject", TYPES), ("function", FUNCTIONS)):
        marks = metafunc.definition.iter_markers("parametrize")
        if name in metafunc.fixturenames and not any(name in mark.args[0] for mark in marks):
            metafunc.parametrize(name, values, ids=[one.label for one in values])
    if "plugin_name" in metafunc.fixturenames:
        metafunc.parametrize("plugin_name", names())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Expects the official plugin's differences, and refuses a table that is not up to date."""
    for item in items:
        if is_ours("nomad") and asks_official(item):
            item.add_marker(pytest.mark.official(official_parts.NOMAD))
    unknown = differences.expect(items)
    if unknown and OFFICIAL in implementations() and not any("::" in argument for argument in config.args):
        listed = ", ".join(f"{entry.test}[{OFFICIAL}{entry.about}]" for entry in unknown)
        raise pytest.UsageError(f"differences.py expects tests that do not exist: {listed}")


def asks_official(item: pytest.Item) -> bool:
    """Returns whether a test's world holds the official nomad plugin."""
    parameters = (
        item.callspec.params.values() if isinstance(item, pytest.Function) and hasattr(item, "callspec") else ()
    )
    return "plugins" in getattr(item, "fixturenames", ()) or any(
        str(getattr(parameter, "world", parameter)).startswith(OFFICIAL) for parameter in parameters
    )


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Executables by a plugin's name."""
    found = toolchain.find()
    folder = tmp_path_factory.mktemp("plugins")

    def of(name: str) -> Path:
        return executable(name, folder, found.nomad if found else None)

    return of


@pytest.fixture(scope="session")
def worlds(programs: Callable[[str], Path]) -> Iterator[Callable[[str], World]]:
    """Worlds by a plugin's name, each made when it is first needed."""
    made: dict[str, World] = {}
    with contextlib.ExitStack() as stack:

        def of(name: str) -> World:
            if name in made and made[name].plugin.is_dead:
                closing_lines.say(f"conformance: the plugin {name} had ended and was started again")
                del made[name]
            if name not in made:
                made[name] = stack.enter_context(world(name, programs(name)))
            made[name].reset()
            return made[name]

        yield of


@pytest.fixture
def place(worlds: Callable[[str], World], request: pytest.FixtureRequest) -> World:
    """The empty world of the type or function in hand."""
    asked: TypeSubject | FunctionSubject = request.getfixturevalue(
        "subject" if "subject" in request.fixturenames else "function"
    )
    return worlds(asked.world)
