"""`python -m tools.bench.versus REV`: this clone beside another commit, so that a regression shows as a ratio.

Each has a sandbox of its own (root is needed), with three zones of one client. Both do the same in turn, and what is
compared is each command with the one beside it: what slows the machine for a while slows both.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from tools.bench import scale
from tools.bench.growth import COMMANDS, Measured
from tools.bench.rig import Rig
from tools.bench.tables import table
from tools.trial import commit
from tools.trial.ground import claim
from tools.trial.running import Running, copy_project

BASE, HERE = "base", "here"
RESULT = Path("build/bench/versus.json")
HEADER = ("volumes, consumers", "command", "seconds: base", "here", "here / base, pair by pair", "of the processor",
          "requests: base", "here", "MiB of the engine: base", "here")  # fmt: skip
Run = Callable[[str, int, int, str], Measured]
"""Runs a command on one side's stack of so many volumes and consumers."""


@dataclass(frozen=True)
class Pair:
    """One command, run by both sides one after the other."""

    base: Measured
    here: Measured


def main(arguments: Sequence[str]) -> int:
    """Compares, prints the table, and writes it with every sample as JSON."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.versus", description=__doc__)
    parser.add_argument("base", metavar="REV", help="branch, tag or commit to compare with")
    parser.add_argument("--sizes", nargs="+", type=scale.size, default=[(1, 1)], metavar="VOLUMESxCONSUMERS")
    parser.add_argument("--repetitions", type=int, default=3, help="how often each size is run (default: 3)")
    parser.add_argument("--json", type=Path, default=RESULT, help=f"where the samples go (default: {RESULT})")
    known = parser.parse_args(arguments)
    try:
        rev = commit.resolve(known.base)
    except commit.CommitError as error:
        parser.error(str(error))
    # So that an end by a signal takes the sandboxes down too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    load = os.getloadavg()[0]
    pairs: list[Pair] = []
    known.json.parent.mkdir(parents=True, exist_ok=True)
    with closing(_in_sandboxes(rev, known.sizes, known.repetitions)) as found:
        for pair in found:
            pairs.append(pair)
            # After each, so that nothing is lost with the run.
            facts = {"base": rev, "repetitions": known.repetitions, "load before": load, "load now": os.getloadavg()[0]}
            known.json.write_text(json.dumps(document(pairs, facts), indent=1) + "\n", encoding="utf-8")
    print(shown(pairs))
    return 0


def compare(run: Run, sizes: Sequence[tuple[int, int]], repetitions: int) -> Iterator[Pair]:
    """Runs every command of each size as often on both sides, each going first in turn."""
    for volumes, consumers in sizes:
        for repetition in range(repetitions):
            order = (BASE, HERE) if repetition % 2 == 0 else (HERE, BASE)
            for command in COMMANDS:
                found = {side: run(side, volumes, consumers, command) for side in order}
                pair = Pair(found[BASE], found[HERE])
                took, processor = _ratio([pair], "seconds"), _ratio([pair], "cpu_s")
                _say(f"{volumes}x{consumers} {command}: {took} of {pair.base.seconds} s, processor {processor}")
                yield pair


def shown(pairs: Sequence[Pair]) -> str:
    """The comparison as a table, a line for each command of each size."""
    return table(HEADER, [_row(group) for group in _groups(pairs)])


def document(pairs: Sequence[Pair], facts: Mapping[str, Any]) -> dict[str, Any]:
    """The same with every sample."""
    summaries = [
        {
            "volumes": group[0].here.volumes,
            "consumers": group[0].here.consumers,
            "command": group[0].here.command,
            **{f"{name} ratio": round(median(_ratios(group, name)), 3) for name in ("seconds", "cpu_s")},
        }
        for group in _groups(pairs)
    ]
    return {**facts, "summaries": summaries, "pairs": [asdict(pair) for pair in pairs]}


def _groups(pairs: Sequence[Pair]) -> list[list[Pair]]:
    found: dict[tuple[int, int, str], list[Pair]] = {}
    for pair in pairs:
        found.setdefault((pair.here.volumes, pair.here.consumers, pair.here.command), []).append(pair)
    return list(found.values())


def _row(group: Sequence[Pair]) -> list[str]:
    first = group[0].here
    sides = [[getattr(pair, side) for pair in group] for side in (BASE, HERE)]
    seconds = [f"{median(one.seconds for one in side):.2f}" for side in sides]
    requests = [f"{median(one.nomad_requests + one.aws_requests for one in side):.0f}" for side in sides]
    memory = [f"{median(one.engine_mib for one in side):.0f}" for side in sides]
    ratios = [_ratio(group, "seconds"), _ratio(group, "cpu_s")]
    return [f"{first.volumes}, {first.consumers}", f"`{first.command}`", *seconds, *ratios, *requests, *memory]


def _ratio(group: Sequence[Pair], name: str) -> str:
    found = _ratios(group, name)
    spread = f" ({min(found):.2f} to {max(found):.2f})" if len(found) > 1 else ""
    return f"**{median(found):.2f}**{spread}"


def _ratios(group: Sequence[Pair], name: str) -> list[float]:
    # Processor time is counted in hundredths, so a very short one may be none.
    return [getattr(pair.here, name) / max(getattr(pair.base, name), 0.01) for pair in group]


def _in_sandboxes(rev: str, sizes: Sequence[tuple[int, int]], repetitions: int) -> Generator[Pair, None, None]:
    with ExitStack() as stack:
        sides = {
            side: stack.enter_context(_side(files)) for side, files in ((BASE, _files_of(rev)), (HERE, copy_project))
        }

        def run(side: str, volumes: int, consumers: int, command: str) -> Measured:
            running = sides[side]
            scale.configure(running.project, volumes, consumers)
            if command == "up":
                # Both start from a Nomad that knows no plugin.
                Rig(running).forget_plugin()
            words = [] if command == "preview" else ["--yes", "--skip-preview"]
            return scale.Bench(running).run(volumes, consumers, command, *words)

        yield from compare(run, sizes, repetitions)


def _files_of(rev: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        commit.export(rev, folder)
        commit.provide_environment(folder)

    return write


@contextmanager
def _side(write_files: Callable[[Path], None]) -> Iterator[Running]:
    """While the sandbox of one side is up, its stack empty."""
    with tempfile.TemporaryDirectory(prefix="nomad-stateful-versus-") as folder:
        project = Path(folder)
        write_files(project)
        running = Running.of(project, claim())
        (project / "sandbox.toml").write_text(scale.sandbox_toml(running.ground, clients_per_zone=1), encoding="utf-8")
        scale.configure(project, 1, 0)
        with running.up():
            scale.Bench(running).run(1, 0, "destroy", "--yes", "--skip-preview")
            yield running


def _say(text: str) -> None:
    print(f"versus: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
