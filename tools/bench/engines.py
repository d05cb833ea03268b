"""`python -m tools.bench.engines`: what the engine itself takes, in other versions of Pulumi and with other variables.

The program in tools/bench/secrets has nothing to wait for, so processor time says it all. Needs neither root nor a
sandbox. The state is a folder.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tools.bench import rows
from tools.bench.growth import COMMANDS
from tools.bench.tables import NONE, table
from tools.bench.usage import Usage
from tools.toolchain import provide

PROJECT = Path(__file__).resolve().parents[2]
PROGRAM = PROJECT / "tools/bench/secrets"
RESULT = Path("build/bench/engines.csv")
BIN = "BIN"
"""Beside variables: the folder of another pulumi and its language host."""
_TIMEOUT_S = 1200.0


@dataclass(frozen=True)
class Way:
    """One way to run the engine."""

    name: str
    variables: Mapping[str, str]


@dataclass(frozen=True)
class Taken:
    """What one command took."""

    way: str
    secrets: int
    repetition: int
    command: str
    cpu_s: float
    """Of the command and everything it started."""
    engine_cpu_s: float
    seconds: float
    engine_mib: int
    state_bytes: int
    """As it lies in the backend after the command."""


def main(arguments: Sequence[str]) -> None:
    """Measures every way in turn, prints the table and keeps each sample."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.engines", description=__doc__)
    parser.add_argument(
        "--secrets", nargs="+", type=int, default=[100, 300, 600], help="how many (default: 100 300 600)"
    )
    parser.add_argument("--repetitions", type=int, default=2, help="how often each is run (default: 2)")
    parser.add_argument("--csv", type=Path, default=RESULT, help=f"where the samples go (default: {RESULT})")
    parser.add_argument(
        "--way",
        nargs="+",
        action="append",
        required=True,
        metavar=("NAME", "VARIABLE=VALUE"),
        help=f"one way to run it, with its variables; {BIN}=FOLDER: with the pulumi in there",
    )
    known = parser.parse_args(arguments)
    ways = [way(words) for words in known.way]
    found: list[Taken] = []
    for secrets in known.secrets:
        for repetition in range(1, known.repetitions + 1):
            for one in ways:
                found += measure(one, secrets, repetition)
                rows.write(known.csv, Taken, found, digits=2)
    print(shown(found))


def way(words: Sequence[str]) -> Way:
    """A way by its name and its variables. Raises SystemExit for a word that is no variable."""
    name, *settings = words
    wrong = [word for word in settings if "=" not in word]
    if wrong:
        raise SystemExit(f"error: --way {name}: {wrong[0]} is not VARIABLE=VALUE")
    return Way(name, dict(word.split("=", 1) for word in settings))


def environment(one: Way, home: Path, secrets: int) -> dict[str, str]:
    """What a command of one way sees: a backend and a home of its own."""
    variables = dict(one.variables)
    folder = variables.pop(BIN, "") or str(provide.ensure().bin_dir)
    outer = {key: value for key, value in os.environ.items() if not key.startswith(("PULUMI_", "GOGC"))}
    return outer | {
        "PATH": os.pathsep.join([folder, str(PROJECT / ".venv/bin"), outer.get("PATH", os.defpath)]),
        "PYTHONPATH": str(PROJECT),
        "PULUMI_HOME": str(home / "home"),
        "PULUMI_BACKEND_URL": f"file://{home}?metadata=skip",
        "PULUMI_CONFIG_PASSPHRASE": "none",
        "PULUMI_SKIP_UPDATE_CHECK": "1",
        "SECRETS": str(secrets),
        **variables,
    }


def measure(one: Way, secrets: int, repetition: int) -> list[Taken]:
    """Up, preview and destroy of a new stack. Raises SystemExit with the output of one that fails."""
    found = []
    with tempfile.TemporaryDirectory(prefix="nomad-stateful-engines-") as folder:
        home = Path(folder)
        env = environment(one, home, secrets)
        config = ["--config-file", str(home / "Pulumi.s.yaml")]
        _run(["pulumi", "stack", "init", "s", "--non-interactive"], env)
        (PROGRAM / "Pulumi.s.yaml").replace(home / "Pulumi.s.yaml")
        for command in COMMANDS:
            words = [] if command == "preview" else ["--yes", "--skip-preview"]
            started = time.monotonic()
            usage = _run(["pulumi", command, *words, "--stack", "s", "--non-interactive", *config], env)
            seconds, state = time.monotonic() - started, _state_bytes(home)
            taken = Taken(one.name, secrets, repetition, command, usage.cpu_s, usage.cpu_s_of("engine"), seconds,
                          usage.peak_mib["engine"], state)  # fmt: skip
            print(taken, file=sys.stderr, flush=True)
            found.append(taken)
    return found


def shown(found: Sequence[Taken]) -> str:
    """A line for each number of secrets and way: processor seconds of the commands, and the engine's memory in `up`."""
    lines = []
    for secrets, name in dict.fromkeys((one.secrets, one.way) for one in found):
        mine = [one for one in found if (one.secrets, one.way) == (secrets, name)]
        times = [_median([one.cpu_s for one in mine if one.command == command]) for command in COMMANDS]
        up = [one for one in mine if one.command == "up"]
        memory, state = median(one.engine_mib for one in up), median(one.state_bytes for one in up)
        lines.append([str(secrets), name, *times, f"{memory:.0f}", f"{state / 1000:.0f}"])
    header = ["secrets", "way", *(f"`{command}`, s" for command in COMMANDS), "MiB of the engine", "kB of state"]
    return table(header, lines)


def _median(values: Sequence[float]) -> str:
    return f"{median(values):.1f}" if values else NONE


def _run(command: Sequence[str], env: Mapping[str, str]) -> Usage:
    with subprocess.Popen(
        command, cwd=PROGRAM, env=dict(env), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        usage = Usage(process.pid).start()
        try:
            output, _ = process.communicate(timeout=_TIMEOUT_S)
        except BaseException:
            process.kill()
            raise
        finally:
            usage.stop()
    if process.returncode != 0:
        raise SystemExit(output)
    return usage


def _state_bytes(home: Path) -> int:
    files = [path for path in (home / ".pulumi/stacks").rglob("s.json*") if not path.name.endswith((".bak", ".attrs"))]
    return sum(path.stat().st_size for path in files)


if __name__ == "__main__":
    main(sys.argv[1:])
