"""`python -m tools.bench.scale`: how time, memory and requests grow with the number of volumes and of their consumers.

A sandbox of its own (root is needed) with three zones; every size is brought up, previewed and destroyed in it.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import yaml

from tools.bench import growth, rows
from tools.bench.growth import COMMANDS, Measured
from tools.bench.usage import Usage
from tools.faults.nomad_proxy import nomad_proxy
from tools.trial.ground import Ground
from tools.trial.running import Running

GROUND = Ground("nsc", IPv4Network("10.173.152.0/22"))
ZONES = ("us-west-2a", "us-west-2b", "us-west-2c")
CLIENTS_PER_ZONE = 2
SIZES = ((1, 1), (10, 1), (10, 5), (50, 5), (50, 20), (100, 5), (100, 20))
_TIMEOUT_S = 1800.0
_SAY_EVERY_S = 30.0


def sandbox_toml() -> str:
    """Three zones with as many clients each."""
    lines = [GROUND.config.rstrip(), f"zones = {list(ZONES)}".replace("'", '"')]
    names = [(f"client-{zone[-1]}{number}", zone) for zone in ZONES for number in range(1, CLIENTS_PER_ZONE + 1)]
    lines += [f'[[instances]]\nname = "{name}"\nzone = "{zone}"' for name, zone in names]
    return "\n".join(lines) + "\n"


def stack_config(template: dict[str, Any], volumes: int, consumers: int) -> dict[str, Any]:
    """The stack's configuration with that many volumes, spread over the zones, the first of them with a consumer."""
    config = {key: value for key, value in template["config"].items() if not key.endswith(":mysql")}
    config["nomad-stateful:volumes"] = [
        {"name": f"v{number}", "zone": ZONES[number % 3], "sizeGib": 1, "fsType": "ext4", "protect": False}
        for number in range(volumes)
    ]
    config["nomad-stateful:consumers"] = [_consumer(f"c{number}", f"v{number}") for number in range(consumers)]
    return {**template, "config": config}


def _consumer(name: str, volume: str) -> dict[str, Any]:
    return {
        "name": name,
        "taskDriver": "docker",
        "image": "busybox:1",
        "command": "/bin/sleep",
        "args": ["100000"],
        # As the first process of its namespace it would not hear of SIGTERM.
        "killSignal": "SIGKILL",
        "cpuMhz": 20,
        "memoryMib": 32,
        "mounts": [{"volume": volume, "path": "/srv/data"}],
    }


def configure(project: Path, volumes: int, consumers: int) -> None:
    """Writes the stack's configuration, from the one that is there."""
    file = project / "Pulumi.dev.yaml"
    template = yaml.safe_load(file.read_text(encoding="utf-8"))
    file.write_text(yaml.safe_dump(stack_config(template, volumes, consumers), sort_keys=False), encoding="utf-8")


class Bench:
    """Runs commands of Pulumi in the sandbox, between two proxies that count what they ask."""

    def __init__(self, running: Running) -> None:
        self._running = running

    def run(self, volumes: int, consumers: int, command: str, *words: str) -> Measured:
        """One command. Raises SystemExit with its output when it fails or takes longer than half an hour."""
        env = self._running.env
        with nomad_proxy(env["NOMAD_ADDR"]) as nomad, nomad_proxy(env["AWS_ENDPOINT_URL"]) as aws:
            started = time.monotonic()
            process = subprocess.Popen(
                ["pulumi", command, *words, "--stack", "dev", "--non-interactive"],
                cwd=self._running.project,
                env=env | {"NOMAD_ADDR": nomad.address, "AWS_ENDPOINT_URL": aws.address},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            usage = Usage(process.pid)
            usage.begin()
            try:
                output = _output(process, f"{volumes}x{consumers} {command}", usage)
            except BaseException:
                process.kill()
                raise
            seconds = time.monotonic() - started
            usage.end()
            if process.returncode != 0:
                raise SystemExit(output)
            peak = usage.peak_mib
            return Measured(
                volumes, consumers, command, round(seconds, 2), round(usage.cpu_s, 2),
                peak["engine"], peak["program"], peak["aws plugin"], peak["nomad plugin"], peak["nomad-csi plugin"],
                len(nomad.times), len(aws.times), peak["language host"], *self._state(),
            )  # fmt: skip

    def _state(self) -> tuple[int, int]:
        """Resources in the stack's state, and bytes of it as exported."""
        done = self._running.run("pulumi", "stack", "export", "--stack", "dev")
        if done.returncode != 0:
            raise SystemExit(done.stderr)
        return len(json.loads(done.stdout)["deployment"].get("resources", [])), len(done.stdout.encode())


def _output(process: subprocess.Popen[str], what: str, usage: Usage) -> str:
    """Everything a process said, once it has ended; a line of progress each half minute."""
    for number in range(1, round(_TIMEOUT_S / _SAY_EVERY_S) + 1):
        try:
            return process.communicate(timeout=_SAY_EVERY_S)[0]
        except subprocess.TimeoutExpired:
            engine = usage.peak_mib["engine"]
            _say(f"{what}: not finished after {number * _SAY_EVERY_S:.0f} s, {engine} MiB in the engine")
    raise SystemExit(f"pulumi: {what}: given up after {_TIMEOUT_S / 60:.0f} minutes")


def measure(
    project: Path, sizes: list[tuple[int, int]], results: Path, limit_s: float, words: Sequence[str] = ()
) -> list[Measured]:
    """Every size brought up, previewed and destroyed in a sandbox; written after each command.

    No size begins after `limit_s` seconds. `words` are for the sandbox's `up`.
    """
    running = Running.prepare(project, GROUND)
    (project / "sandbox.toml").write_text(sandbox_toml(), encoding="utf-8")
    measured: list[Measured] = []
    configure(project, 1, 0)
    started = time.monotonic()
    with running.up(*words):
        bench = Bench(running)
        bench.run(1, 0, "destroy", "--yes", "--skip-preview")
        for volumes, consumers in sizes:
            if time.monotonic() - started > limit_s:
                _say(f"{volumes}x{consumers} and what follows is left out: {limit_s / 60:.0f} minutes are over")
                break
            configure(project, volumes, consumers)
            for command in COMMANDS:
                options = [] if command == "preview" else ["--yes", "--skip-preview"]
                measured.append(bench.run(volumes, consumers, command, *options))
                _say(str(measured[-1]))
                rows.write(results, Measured, measured, digits=2)
    return measured


def _say(text: str) -> None:
    print(f"scale {datetime.now(UTC):%H:%M:%S}  {text}", file=sys.stderr, flush=True)


def size(word: str) -> tuple[int, int]:
    """Numbers of volumes and consumers."""
    volumes, times, consumers = word.partition("x")
    if not (times and volumes.isdigit() and consumers.isdigit()):
        raise ValueError(f"{word} is not VOLUMESxCONSUMERS")
    return int(volumes), int(consumers)


def main(arguments: list[str]) -> None:
    """Measures the sizes, each VOLUMESxCONSUMERS."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.scale", description=__doc__)
    parser.add_argument("sizes", nargs="*", type=size, default=list(SIZES))
    parser.add_argument("--csv", type=Path, default=Path("tools/bench/results/scale.csv"))
    parser.add_argument("--minutes", type=float, default=120, help="begin no further size after this long")
    parser.add_argument("--official", type=Path, metavar="FOLDER", help="with the official parts in this folder")
    options = parser.parse_args(arguments)
    words = [] if options.official is None else ["--official", str(options.official.resolve())]
    # So that an end by a signal takes the sandbox down too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="nomad-stateful-scale-") as folder:
        measured = measure(Path(folder), options.sizes, options.csv, options.minutes * 60, words)
    for command in COMMANDS:
        exponent, _ = growth.fit(growth.of_command(measured, command))
        print(f"{command}: time grows with volumes to the power of {exponent:.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
