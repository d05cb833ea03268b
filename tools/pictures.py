"""Pictures of the operators' commands, from runs on a sandbox: `python -m tools.pictures`, `make pictures`.

For two of them MySQL is made to wait: the clients of its zone take no new allocations while its own is stopped.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from nomad_stateful.nomad import clients
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.terminal import Line, Span, parsed, svg

PROJECT = Path(__file__).parents[1]
FIGURES = PROJECT / "docs/figures"
JOB = "mysql-server"
_WAIT_S = 120.0
_COLUMNS, _LINES = 118, 36


def main() -> int:
    """Draws doctor and status of a stack in order, then status and explain of one whose MySQL waits."""
    with closing(NomadApi.from_env({"token": os.environ["NOMAD_OPERATOR_TOKEN"]})) as nomad:
        _draw("doctor", "doctor")
        _draw("status", "status")
        (FIGURES / "operate-graph.svg").write_text(_said("status", "--graph", "svg"), encoding="utf-8")
        with _waiting(nomad):
            _draw("status-wrong", "status")
            _draw("explain", "explain", JOB)
    return 0


def _draw(name: str, *words: str) -> None:
    lines = [part for line in parsed(_said(*words)) for part in _folded(line)]
    if len(lines) > _LINES:
        lines = [*lines[: _LINES - 1], [Span(f"… {len(lines) - _LINES + 1} more lines", "dim")]]
    picture = svg(lines, f"nomad-stateful {' '.join(words)}")
    (FIGURES / f"operate-{name}.svg").write_text(picture, encoding="utf-8")
    print(f"docs/figures/operate-{name}.svg")


def _folded(line: Line) -> list[Line]:
    """Returns a line in parts that fit the picture, the later ones below the text of the first."""
    *before, last = line or [Span("")]
    begun = sum(len(span.text) for span in before)
    indent = " " * (begun + len(last.text) - len(last.text.lstrip()))
    wide = sum(len(span.text) for span in line) > _COLUMNS and not before[3:]
    parts = textwrap.wrap(last.text.strip(), _COLUMNS - len(indent)) if wide else []
    if len(parts) < 2:
        return [line]
    first = Span(indent[begun:] + parts[0], last.style)
    return [[*before, first], *([Span(indent + part, last.style)] for part in parts[1:])]


def _said(*words: str) -> str:
    """Returns what a command prints, in colour; commands that find something wrong fail, and are drawn as well."""
    command = [sys.executable, "-m", "nomad_stateful.operate", *words]
    env = {**os.environ, "CLICOLOR_FORCE": "1"}
    done = subprocess.run(command, cwd=PROJECT, env=env, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise SystemExit(f"{' '.join(words)}: {done.stderr}")
    for private in (str(PROJECT), str(Path.home())):
        if f"{private}/" in done.stdout:
            raise SystemExit(f"operate {' '.join(words)} prints {private}, which is of this machine alone")
    return done.stdout.rstrip()


@contextmanager
def _waiting(nomad: NomadApi) -> Iterator[None]:
    """While MySQL waits for a client; afterwards it runs again."""
    (running,) = _running(nomad)
    own = clients.get(nomad, nomad.get(f"allocation/{running}")["NodeID"])
    inside = [client.id for client in clients.read(nomad) if client.zone == own.zone]
    for client_id in inside:
        clients.set_eligible(nomad, client_id, eligible=False)
    try:
        nomad.put(f"allocation/{running}/stop", {})
        _until(lambda: not _running(nomad) and _blocked(nomad), "MySQL waits")
        yield
    finally:
        for client_id in inside:
            clients.set_eligible(nomad, client_id, eligible=True)
        _until(lambda: bool(_running(nomad)), "MySQL runs again")


def _running(nomad: NomadApi) -> list[str]:
    found = nomad.get(f"job/{JOB}/allocations") or []
    return [str(one["ID"]) for one in found if one["ClientStatus"] == "running"]


def _blocked(nomad: NomadApi) -> bool:
    return any(one["Status"] == "blocked" for one in nomad.get(f"job/{JOB}/evaluations") or [])


def _until(probe: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _WAIT_S
    while not probe():
        if time.monotonic() > deadline:
            raise SystemExit(f"not after {_WAIT_S:.0f} s: {what}")
        time.sleep(0.5)


if __name__ == "__main__":
    sys.exit(main())
