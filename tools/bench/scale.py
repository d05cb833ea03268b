"""`python -m tools.bench.scale`: how time, memory and requests grow with the number of volumes and of their consumers.

A sandbox of its own (root is needed) with three zones; every size is brought up, previewed and destroyed in it.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from ipaddress import IPv4Network
from pathlib import Path
from threading import Event, Thread
from typing import Any

import yaml

from tools.bench import growth, scale_figure
from tools.bench.growth import COMMANDS, Measured
from tools.bench.process_tree import process_tree
from tools.bench.proxy import Proxy, caller
from tools.trial.ground import Ground
from tools.trial.running import Running

GROUND = Ground("nsc", IPv4Network("10.173.152.0/22"))
ZONES = ("us-west-2a", "us-west-2b", "us-west-2c")
CLIENTS_PER_ZONE = 2
SIZES = ((1, 1), (10, 1), (10, 5), (50, 5), (50, 20), (100, 5), (100, 20))
SAMPLE_S = 0.1
_TIMEOUT_S = 1800.0


def sandbox_toml(ground: Ground = GROUND, clients_per_zone: int = CLIENTS_PER_ZONE) -> str:
    """Three zones with as many clients each."""
    lines = [ground.config.rstrip(), f"zones = {list(ZONES)}".replace("'", '"')]
    names = [(f"client-{zone[-1]}{number}", zone) for zone in ZONES for number in range(1, clients_per_zone + 1)]
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
        "taskDriver": "exec",
        "command": "/bin/sleep",
        "args": ["100000"],
        # As the first process of its namespace it would not hear of SIGTERM.
        "killSignal": "SIGKILL",
        "user": "dbadmin",
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
        """One command. Raises SystemExit with its output when it fails."""
        env = self._running.env
        with Proxy(env["NOMAD_ADDR"], caller) as nomad, Proxy(env["AWS_ENDPOINT_URL"], caller) as aws:
            started = time.monotonic()
            process = subprocess.Popen(
                ["pulumi", command, *words, "--stack", "dev", "--non-interactive"],
                cwd=self._running.project,
                env=env | {"NOMAD_ADDR": nomad.url, "AWS_ENDPOINT_URL": aws.url},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            usage = Usage(process.pid)
            try:
                output, _ = process.communicate(timeout=_TIMEOUT_S)
            except BaseException:
                process.kill()
                raise
            seconds = time.monotonic() - started
            usage.stop()
            if process.returncode != 0:
                raise SystemExit(output)
            peak = usage.peak_mib
            return Measured(
                volumes, consumers, command, round(seconds, 2), round(usage.cpu_s, 2),
                peak["engine"], peak["program"], peak["aws plugin"], peak["nomad plugin"], peak["nomad-csi plugin"],
                len(nomad.requests), len(aws.requests),
            )  # fmt: skip


class Usage:
    """Memory and processor time of a process and everything below it, sampled until it is stopped."""

    def __init__(self, root: int) -> None:
        self.peak_mib: Counter[str] = Counter()
        self._cpu_s: dict[int, float] = {}
        self._stop = Event()
        self._thread = Thread(target=self._watch, args=(root,), daemon=True)
        self._thread.start()

    @property
    def cpu_s(self) -> float:
        return sum(self._cpu_s.values())

    def stop(self) -> None:
        """Ends the sampling."""
        self._stop.set()
        self._thread.join()

    def _watch(self, root: int) -> None:
        while not self._stop.wait(SAMPLE_S):
            for found in process_tree(root):
                self._cpu_s[found.pid] = found.cpu_s
                self.peak_mib[found.name] = max(self.peak_mib[found.name], round(found.resident_mib))


def measure(project: Path, sizes: list[tuple[int, int]], results: Path) -> list[Measured]:
    """Every size brought up, previewed and destroyed; written after each command."""
    running = Running.prepare(project, GROUND)
    (project / "sandbox.toml").write_text(sandbox_toml(), encoding="utf-8")
    measured: list[Measured] = []
    configure(project, 1, 0)
    with running.up():
        bench = Bench(running)
        bench.run(1, 0, "destroy", "--yes", "--skip-preview")
        for volumes, consumers in sizes:
            configure(project, volumes, consumers)
            for command in COMMANDS:
                words = [] if command == "preview" else ["--yes", "--skip-preview"]
                measured.append(bench.run(volumes, consumers, command, *words))
                print(measured[-1], file=sys.stderr, flush=True)
                growth.write(results, measured)
    return measured


def size(word: str) -> tuple[int, int]:
    """Numbers of volumes and consumers."""
    volumes, times, consumers = word.partition("x")
    if not (times and volumes.isdigit() and consumers.isdigit()):
        raise ValueError(f"{word} is not VOLUMESxCONSUMERS")
    return int(volumes), int(consumers)


def main(arguments: list[str]) -> None:
    """Measures the sizes, each VOLUMESxCONSUMERS, and draws the curve."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.scale", description=__doc__)
    parser.add_argument("sizes", nargs="*", type=size, default=list(SIZES))
    parser.add_argument("--csv", type=Path, default=Path("tools/bench/results/scale.csv"))
    parser.add_argument("--figure", type=Path, default=Path("docs/figures/scale.svg"))
    options = parser.parse_args(arguments)
    # So that an end by a signal takes the sandbox down too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="nomad-stateful-scale-") as folder:
        measured = measure(Path(folder), options.sizes, options.csv)
    options.figure.parent.mkdir(parents=True, exist_ok=True)
    options.figure.write_text(scale_figure.draw(measured), encoding="utf-8")
    for command in COMMANDS:
        exponent, _ = growth.fit(growth.of_command(measured, command))
        print(f"{command}: time grows with volumes to the power of {exponent:.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
