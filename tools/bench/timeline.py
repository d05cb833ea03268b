"""`python -m tools.bench.timeline`: records where the time of one `pulumi up` goes, as JSON, and draws it.

To be run in a shell that has sourced `.sandbox/env`, on a stack with nothing deployed. Times are seconds since the
start of the command.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

from nomad_stateful.nomad.api import NomadApi, NomadError
from tools.bench import timeline_figure
from tools.bench.answering import is_open
from tools.bench.process_tree import process_tree

POLL_S = 0.05
DRAWN_TYPES = ("aws:", "nomad:", "nomad-csi:")


@dataclass(frozen=True)
class Span:
    """Something that took time; `lane` groups what is drawn together."""

    lane: str
    name: str
    start_s: float
    end_s: float


class Clock:
    """Seconds since the command was started."""

    def __init__(self) -> None:
        self.epoch = time.time()

    def now(self) -> float:
        return time.time() - self.epoch

    def since_epoch(self, nanoseconds: int) -> float:
        """A moment that Nomad tells, in nanoseconds since the epoch."""
        return nanoseconds / 1e9 - self.epoch


class Processes:
    """The processes of the command's tree, from when they are seen until they are gone."""

    lane = "processes"

    def __init__(self, clock: Clock, root: int) -> None:
        self._clock, self._root = clock, root
        self._seen: dict[int, list[Any]] = {}

    def look(self) -> None:
        now = self._clock.now()
        for process in process_tree(self._root):
            found = self._seen.setdefault(process.pid, [process.name, now, now])
            # A process is its parent's copy for a moment, and nameless once it has ended.
            found[0], found[2] = process.name or found[0], now

    def spans(self) -> list[Span]:
        return [Span(self.lane, name, start, end) for name, start, end in self._seen.values() if end - start > POLL_S]


class Operations:
    """The engine's steps, from the event log while it is written: its own times are whole seconds."""

    lane = "engine"

    def __init__(self, clock: Clock, log: Path) -> None:
        self._clock, self._log = clock, log
        self._offset, self._rest = 0, b""
        self._begun: dict[str, float] = {}
        self._spans: list[Span] = []

    def look(self) -> None:
        if not self._log.exists():
            return
        with self._log.open("rb") as file:
            file.seek(self._offset)
            new = file.read()
        self._offset += len(new)
        *lines, self._rest = (self._rest + new).split(b"\n")
        for line in lines:
            self._take(json.loads(line))

    def _take(self, event: dict[str, Any]) -> None:
        began, ended = event.get("resourcePreEvent"), event.get("resOutputsEvent")
        metadata = (began or ended or {}).get("metadata") or {}
        urn = metadata.get("urn", "")
        if not metadata.get("type", "").startswith(DRAWN_TYPES) or metadata.get("op") != "create":
            return
        if began:
            self._begun[urn] = self._clock.now()
        elif urn in self._begun:
            kind, name = metadata["type"].rsplit(":", 1)[-1], urn.rsplit("::", 1)[-1]
            self._spans.append(Span(self.lane, f"{kind} {name}", self._begun.pop(urn), self._clock.now()))

    def spans(self) -> list[Span]:
        return self._spans


class NomadSide:
    """When the plugin is healthy where, and when MySQL answers."""

    def __init__(self, clock: Clock, api: NomadApi, plugin: str, server: str) -> None:
        self._clock, self._api, self._plugin, self._server = clock, api, plugin, server
        self.moments: dict[str, float] = {}

    def look(self) -> None:
        self._plugin_health()
        if "MySQL" not in self.moments:
            self._answer()

    def _plugin_health(self) -> None:
        plugin = self._ask(f"plugin/csi/{self._plugin}") or {}
        for role in ("Controllers", "Nodes"):
            for node, info in (plugin.get(role) or {}).items():
                if info and info.get("Healthy"):
                    self.moments.setdefault(f"{role[:-1].lower()} {node}", self._clock.now())

    def _answer(self) -> None:
        for stub in self._ask(f"job/{self._server}/allocations") or []:
            address = self._address(stub) if stub["ClientStatus"] == "running" else None
            if address and is_open(address):
                self.moments["MySQL"] = self._clock.now()

    def _address(self, stub: dict[str, Any]) -> tuple[str, int] | None:
        allocation = self._ask(f"allocation/{stub['ID']}")
        ports = allocation["AllocatedResources"]["Shared"].get("Ports") if allocation else None
        return next(((port["HostIP"], int(port["Value"])) for port in ports or []), None)

    def _ask(self, path: str) -> Any:
        """None while there is no answer, as before a job is there: the next look may find one."""
        with suppress(NomadError):
            return self._api.get(path, timeout_s=2)
        return None

    def spans(self) -> list[Span]:
        """From the allocations' own records."""
        stubs = self._api.get("allocations", task_states="true")
        return nomad_spans(stubs, self.moments, self._clock, self._server)


def nomad_spans(
    stubs: Sequence[Mapping[str, Any]], moments: Mapping[str, float], clock: Clock, server: str
) -> list[Span]:
    """What Nomad's allocations took: to start, and from then to health or, of the server, to an answer."""
    found = []
    for stub in stubs:
        created, started = clock.since_epoch(stub["CreateTime"]), _task_started(stub)
        if created < 0:
            continue
        running = clock.since_epoch(started) if started else created
        job, node = stub["JobID"], stub["NodeName"]
        found.append(Span("nomad", f"{job} starting on {node}", created, running))
        if job == server:
            if "MySQL" in moments:
                found.append(Span("nomad", "MySQL starts and answers", running, moments["MySQL"]))
            continue
        role = "controller" if "controller" in job else "node"
        healthy = moments.get(f"{role} {stub['NodeID']}", -1)
        if healthy >= running:
            found.append(Span("nomad", f"{job} unhealthy on {node}", running, healthy))
    return found


def _task_started(stub: Mapping[str, Any]) -> int:
    """Nanoseconds since the epoch at which the first task of an allocation started; 0 when none did."""
    events = [event for state in (stub.get("TaskStates") or {}).values() for event in state.get("Events") or []]
    return min((int(event["Time"]) for event in events if event["Type"] == "Started"), default=0)


def _every(pause_s: float, look: Callable[[], None], stop: Event) -> Thread:
    def run() -> None:
        while not stop.wait(pause_s):
            look()

    thread = Thread(target=run, daemon=True)
    thread.start()
    return thread


def record(stack: str, plugin: str, server: str) -> dict[str, Any]:
    """Runs `pulumi up`; its spans and moments. Raises SystemExit with the command's output when it fails."""
    api = NomadApi(os.environ["NOMAD_ADDR"], os.environ.get("NOMAD_OPERATOR_TOKEN", os.environ["NOMAD_TOKEN"]))
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "events")
        log.touch()
        clock, stop = Clock(), Event()
        words = [
            "pulumi",
            "up",
            "--yes",
            "--skip-preview",
            "--non-interactive",
            "--stack",
            stack,
            "--event-log",
            str(log),
        ]
        # Without it the option --event-log does not exist.
        env = {**os.environ, "PULUMI_DEBUG_COMMANDS": "true"}
        process = subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        processes, operations = Processes(clock, process.pid), Operations(clock, log)
        nomad = NomadSide(clock, api, plugin, server)
        threads = [_every(POLL_S, item.look, stop) for item in (processes, operations, nomad)]
        output, _ = process.communicate()
        ended = clock.now()
        stop.set()
        for thread in threads:
            thread.join()
        operations.look()
    if process.returncode != 0:
        raise SystemExit(output)
    spans = [*processes.spans(), *operations.spans(), *nomad.spans()]
    return {"ended_s": ended, "moments": nomad.moments, "spans": [asdict(span) for span in spans]}


def main(arguments: list[str]) -> None:
    """Records into --json and draws into --figure; with --draw-only draws what was recorded."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.timeline", description=__doc__)
    parser.add_argument("--json", type=Path, default=Path("tools/bench/results/timeline-up.json"))
    parser.add_argument("--figure", type=Path, default=Path("docs/figures/timeline-up.svg"))
    parser.add_argument("--stack", default="dev")
    parser.add_argument("--plugin", default="aws-ebs0")
    parser.add_argument("--server", default="mysql-server", help="job id of MySQL")
    parser.add_argument("--draw-only", action="store_true")
    options = parser.parse_args(arguments)
    if not options.draw_only:
        recorded = record(options.stack, options.plugin, options.server)
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(recorded, indent=1) + "\n", encoding="utf-8")
    options.figure.parent.mkdir(parents=True, exist_ok=True)
    options.figure.write_text(timeline_figure.draw(json.loads(options.json.read_text())), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
