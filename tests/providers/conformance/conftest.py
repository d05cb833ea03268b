"""One plugin of each kind for the whole run, on memory alone; every test finds its world empty."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandbox import toolchain

from .subjects import FunctionSubject, TypeSubject
from .tables import FUNCTIONS, TYPES
from .worlds import PLUGINS, World, executable, world


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Asks every type, every function and every plugin."""
    for name, values in (("subject", TYPES), ("function", FUNCTIONS)):
        marks = metafunc.definition.iter_markers("parametrize")
        if name in metafunc.fixturenames and name not in [mark.args[0] for mark in marks]:
            metafunc.parametrize(name, values, ids=[one.token for one in values])
    if "plugin_name" in metafunc.fixturenames:
        metafunc.parametrize("plugin_name", PLUGINS)


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Executables by a plugin's name."""
    found = toolchain.find()
    folder = tmp_path_factory.mktemp("plugins")
    return lambda name: executable(name, folder, found.nomad if found else None)


@pytest.fixture(scope="session")
def worlds(programs: Callable[[str], Path]) -> Iterator[Callable[[str], World]]:
    """Worlds by a plugin's name, each made when it is first needed."""
    made: dict[str, World] = {}
    with contextlib.ExitStack() as stack:

        def of(name: str) -> World:
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
    return worlds(asked.plugin)
