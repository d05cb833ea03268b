"""The suites, in the order of their cost, and which of them finds a defect."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.planted.defect import Defect

FOLDERS: Final[Mapping[str, Sequence[str]]] = {
    "unit": ("tests/unit", "tests/iam", "tests/injection", "tests/secrets"),
    "judge": ("tests/histories",),
    "plugins": ("tests/providers", "tests/package", "tests/random_settings", "tests/documents"),
    "stack": ("tests/sandbox", "tests/databases", "tests/mysql", "tests/postgres", "tests/upgrade", "tests/faults"),
    "faults": (),
}
"""Where the tests of each suite are; of the last, `make faults` runs the faults that a defect names."""
# They compare the defects with the code, and would find each of them.
_OWN: Final = "tests/unit/tools/planted"
_FAILED, _NOTHING_SELECTED = 1, 5
_ENDS_WITHIN_S: Final = 7200


class SuiteError(Exception):
    """A suite did not come to a result."""


@dataclass(frozen=True)
class Result:
    """What became of one defect."""

    defect: str
    breaks: str
    suite: str
    """The one that found it; "" where none did."""
    test: str
    seconds: float
    """Until it was found, or until nothing had."""
    tried: Sequence[str]
    """The suites that ran."""


def find(defect: Defect, folder: Path, suites: Sequence[str], *, whole: bool = False) -> Result:
    """Runs the suites on a project's folder with the defect until one finds it. Raises StaleError and SuiteError.

    A test finds it that fails with the defect and passes without. `whole` adds all other tests of the suites, where
    those that the defect names find nothing.
    """
    seconds, tried = 0.0, list[str]()
    for suite, command in _commands(defect, suites, whole=whole):
        tried += [suite] if suite not in tried else []
        began = time.monotonic()
        with defect.planted(folder):
            _refuse_other_code(folder)
            failed = _failed(command, folder)
        seconds += time.monotonic() - began
        for test in failed:
            again = _pytest([test]) if suite != "faults" else command
            if not _failed(again, folder):
                return Result(defect.name, defect.breaks, suite, test, round(seconds, 1), tried)
            print(f"    {test} fails without the defect, too", flush=True)
    return Result(defect.name, defect.breaks, "", "", round(seconds, 1), tried)


def _commands(defect: Defect, suites: Sequence[str], *, whole: bool) -> Iterator[tuple[str, list[str]]]:
    for suite, folders in FOLDERS.items():
        if suite not in suites:
            continue
        if tests := [one for one in defect.tests if one.startswith(tuple(f"{folder}/" for folder in folders))]:
            yield suite, _pytest(tests)
        for fault in defect.faults if suite == "faults" else ():
            words = ["--runs", "1", "--seed", "1", "--database", defect.database, "--only", fault]
            yield suite, [sys.executable, "-m", "tools.faults", *words]
        if whole and folders:
            yield suite, _pytest([*folders, f"--ignore={_OWN}", "-n", "2"])


def _pytest(words: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "pytest", "-q", "-x", "-m", "nightly or not nightly", *words]


def _failed(command: Sequence[str], folder: Path) -> list[str]:
    """Returns the names of what failed. Raises SuiteError where nothing says whether something did."""
    try:
        done = subprocess.run(
            command, cwd=folder, env=_environment(), capture_output=True, text=True, timeout=_ENDS_WITHIN_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise SuiteError(f"{' '.join(command)} did not end within {error.timeout:.0f} s") from None
    if done.returncode not in (0, _FAILED, _NOTHING_SELECTED):
        raise SuiteError(f"{' '.join(command)} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-2000:]}")
    if done.returncode != _FAILED:
        return []
    if "pytest" not in command:
        print(textwrap.indent(done.stdout.partition(" failed: ")[2].rstrip(), "    "), flush=True)
        return [command[-1]]
    lines = [line.split(" ", 1)[1] for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return [line.partition(" - ")[0] for line in lines]


def _environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "CI")}


def _refuse_other_code(folder: Path) -> None:
    """Raises SuiteError unless what runs in the folder imports the folder's own code."""
    code = "import nomad_stateful, tools; print(nomad_stateful.__file__, tools.__file__)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=folder, env=_environment(), capture_output=True, text=True, check=False)
    files = done.stdout.split()
    if not files or not all(Path(one).resolve().is_relative_to(folder.resolve()) for one in files):
        raise SuiteError(f"in {folder} other code is imported: {done.stdout or done.stderr}")
