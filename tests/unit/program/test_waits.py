"""Whatever waits does so in a frame of docs/architecture.md: nothing else has a clock."""

import re
import sys
from pathlib import Path

from tests.unit.program.test_layout import PAGE, TOP, imports, outside, sources

HEAD = "| frame | where | for |"
_CLOCKS = frozenset({"sched", "select", "selectors", "time"})
_GROUND = ("nomad_stateful/errors.py", "nomad_stateful/waiting.py")


def frames(text: str) -> dict[str, list[str]]:
    """Returns the files of each frame, as the table has them."""
    rows = text.partition(HEAD)[2].partition("\n\n")[0].splitlines()[2:]
    cells = [row.split("|")[1:3] for row in rows]
    return {frame.strip(): re.findall(r"`(.+?)`", where) for frame, where in cells}


FRAMES = frames(PAGE.read_text(encoding="utf-8"))


def installed() -> list[Path]:
    """Returns the modules of what is deployed and installed, as opposed to the sandbox and the maintainers' tools."""
    rooms = ("components", "metrics", "nomad_stateful", "policy")
    return [path for path in sources() if path.relative_to(TOP).parts[0] in rooms]


def test_there_are_five_frames_and_each_is_there() -> None:
    assert len(FRAMES) == 5
    assert [name for names in FRAMES.values() for name in names if not (TOP / name).is_file()] == []


def test_only_the_frames_import_a_clock() -> None:
    named = {name for names in FRAMES.values() for name in names}
    wrong = {
        f"{path.relative_to(TOP)} imports {module}"
        for path in installed()
        for module in outside(path) & _CLOCKS
        if path.relative_to(TOP).as_posix() not in named
    }
    assert wrong == set()


def test_waits_and_errors_lie_on_the_ground() -> None:
    for name in _GROUND:
        foreign = {module.partition(".")[0] for module in outside(TOP / name)} - sys.stdlib_module_names
        assert foreign <= {"nomad_stateful"}, f"{name} imports what is installed"
        assert set(imports(TOP / name)) <= set(_GROUND)
