"""What a command costs the APIs: requests to Nomad and AWS, by who makes them."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tools.bench import proxy, rows
from tools.bench.passes import CHANGED_MEMORY_MIB
from tools.bench.pulumi import Pulumi
from tools.bench.recorder import Recorder
from tools.bench.rig import Rig, wait_until

_SETTLE_S = 2.0


@dataclass(frozen=True)
class Cost:
    """How often something was asked during one command."""

    command: str
    service: str
    """nomad or aws"""
    caller: str
    request: str
    count: int
    seconds: float
    """How long the command took, or the observation was."""


class Costs:
    """One pass of a contender through counting proxies; its times count for nothing."""

    def __init__(self, rig: Rig, recorder: Recorder, idle_s: float) -> None:
        self._rig = rig
        self._recorder = recorder
        self._idle_s = idle_s
        self.found: list[Cost] = []

    def run(self, contender: Pulumi, path: Path) -> None:
        """Writes what was counted after each command. Raises Failed when the stack does not come up."""
        self._rig.sweep()
        self._rig.forget_plugin()
        env = self._rig.running.env
        with ExitStack() as stack:
            nomad = stack.enter_context(proxy.Proxy(env["NOMAD_ADDR"], proxy.caller))
            aws = stack.enter_context(proxy.Proxy(env["AWS_ENDPOINT_URL"], proxy.caller))
            contender.more_env = {"NOMAD_ADDR": nomad.url, "AWS_ENDPOINT_URL": aws.url}
            stack.callback(contender.more_env.clear)
            steps: list[tuple[str, Callable[[], object]]] = [
                ("up", contender.up),
                ("up without a change", contender.up),
                ("preview", contender.preview),
                ("a changed setting", lambda: contender.change(CHANGED_MEMORY_MIB)),
                ("idle", lambda: time.sleep(self._idle_s)),
                ("destroy", contender.destroy),
            ]
            for name, action in steps:
                self._count(name, action, {"nomad": nomad, "aws": aws})
                write(path, self.found)
            wait_until("nothing is left", lambda: not self._rig.left(), 60)

    def _count(self, command: str, action: Callable[[], object], proxies: dict[str, proxy.Proxy]) -> None:
        before = {service: len(one.requests) for service, one in proxies.items()}
        started = time.time()
        action()
        ended = time.time()
        # What the driver does after the command belongs to it.
        time.sleep(0 if command == "idle" else _SETTLE_S)
        counted: Counter[tuple[str, str, str]] = Counter()
        for service, one in proxies.items():
            counted.update((service, found.caller, found.what) for found in one.requests[before[service] :])
        counted.update(("aws", "driver", action) for action in self._by_driver(started, ended + _SETTLE_S))
        self.found += [
            Cost(command, service, caller, request, count, ended - started)
            for (service, caller, request), count in sorted(counted.items())
        ]
        by_service = Counter[str]()
        for (service, _, _), count in counted.items():
            by_service[service] += count
        # That nothing was asked is a result too.
        none = [Cost(command, service, "", "", 0, ended - started) for service in proxies if not by_service[service]]
        self.found += none
        asked = f"{by_service['nomad']} requests to Nomad, {by_service['aws']} to AWS"
        self._recorder.say(f"{command}: {asked} in {ended - started:.1f} s")

    def _by_driver(self, since: float, until: float) -> Iterable[str]:
        """Actions that came from the instances, out of the cloud's own record."""
        addresses = {str(self._rig.settings.instance_address(spec)) for spec in self._rig.settings.instances}
        log = self._rig.settings.log_dir / "ec2-calls.jsonl"
        for line in log.read_text(encoding="utf-8").splitlines():
            call = json.loads(line)
            if call["client"] in addresses and since <= datetime.fromisoformat(call["time"]).timestamp() <= until:
                yield str(call["action"])


def write(path: Path, costs: Iterable[Cost]) -> None:
    """One line for each kind of request."""
    rows.write(path, Cost, costs, digits=1)


def read(path: Path) -> list[Cost]:
    """What `write` wrote; nothing where there is no file."""
    return rows.read(path, Cost)
