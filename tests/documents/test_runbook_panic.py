"""docs/runbook.md, "Nomad's servers panic": the panic and the way out, on a server of the last Nomad that has it."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ports import unused_ports
from tools import toolchain
from tools.toolchain.pins import NOMAD_1_11
from tools.toolchain.provide import NOMAD_VARIABLE

pytestmark = pytest.mark.nomad

ADDRESS = "127.0.0.1"
ATTEMPTS, ATTEMPT_S = 20, 8


class Server:
    """One Nomad server that keeps its state in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ports = dict(zip(("http", "rpc", "serf"), unused_ports(3), strict=True))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, **server: int) -> None:
        """Starts it, with settings of its `server` block."""
        settings = {
            "data_dir": str(self._folder / "data"),
            "bind_addr": ADDRESS,
            "advertise": dict.fromkeys(self._ports, ADDRESS),
            "ports": self._ports,
            "server": {"enabled": True, "bootstrap_expect": 1, "raft_multiplier": 1} | server,
        }
        (self._folder / "server.json").write_text(json.dumps(settings))
        env = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "NOMAD_"))}
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [toolchain.ensure().nomad, "agent", "-config", self._folder / "server.json"],
                stdout=log,
                stderr=subprocess.STDOUT,
                env=env,
            )

    def leads(self) -> bool:
        """Waits until it leads; False if it ended before."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if self.ended(0):
                return False
            try:
                if self.call("GET", "status/leader"):
                    return True
            except OSError:
                pass
            time.sleep(0.05)
        raise TimeoutError((self._folder / "log").read_text())

    def ended(self, timeout_s: float) -> bool:
        """Whether it ends by itself within so many seconds."""
        assert self._process
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def stop(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()

    def call(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(f"http://{ADDRESS}:{self._ports['http']}/v1/{path}", data, method=method)
        with urllib.request.urlopen(asked, timeout=10) as answer:
            return json.load(answer)

    def log(self) -> str:
        return (self._folder / "log").read_text()


@pytest.fixture
def panicked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server that has panicked: where purges do not come to it within seconds, a new one."""
    monkeypatch.setenv(NOMAD_VARIABLE, NOMAD_1_11.version)
    for attempt in range(ATTEMPTS):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        made = Server(folder)
        try:
            made.start()
            assert made.leads()
            if purged_to_death(made):
                yield made
                return
        finally:
            made.stop()
    pytest.fail("this Nomad does not panic: take the entry out of docs/runbook.md, or say for which versions it is")


def job(name: str, count: int = 1) -> dict[str, Any]:
    """A service job with deployments. No client is there, so nothing of it ever runs."""
    task = {"Name": "task", "Driver": "exec", "Config": {"command": "/bin/true"}}
    return {
        "Job": {
            "ID": name,
            "Name": name,
            "Type": "service",
            "Datacenters": ["*"],
            "Update": {"MaxParallel": 1},
            "TaskGroups": [{"Name": "group", "Count": count, "Tasks": [task]}],
        }
    }


def purged_to_death(server: Server) -> bool:
    """Registers jobs and purges each within milliseconds, for some seconds; whether the server has ended by it."""
    deadline = time.monotonic() + ATTEMPT_S

    def purge(prefix: str) -> None:
        number = 0
        while not server.ended(0) and time.monotonic() < deadline:
            number += 1
            with contextlib.suppress(OSError):
                server.call("PUT", "jobs", job(f"{prefix}-{number}"))
                time.sleep(random.random() * 0.004)
                server.call("DELETE", f"job/{prefix}-{number}?purge=true")

    purging = [threading.Thread(target=purge, args=(f"early{number}",)) for number in range(6)]
    for one in purging:
        one.start()
    for one in purging:
        one.join()
    return server.ended(0)


def test_a_server_that_panics_at_every_start_leads_again_after_the_runbooks_steps(panicked: Server) -> None:
    server = panicked
    assert "references unknown job" in server.log()
    assert "(*planner).applyPlan" in server.log()

    server.start()
    assert not server.leads() or server.ended(30), "it does not panic again"

    server.start(num_schedulers=0)
    assert server.leads()
    waiting = [one for one in server.call("GET", "evaluations") if one["Status"] == "pending"]
    left = {one["JobID"] for one in waiting if one["TriggeredBy"] == "job-deregister"}
    assert left, waiting
    for name in left:
        server.call("PUT", "jobs", job(name, count=0))

    server.stop()
    server.start()
    assert server.leads()
    until(lambda: not pending(server, left))
    for name in left:
        server.call("DELETE", f"job/{name}?purge=true")
    until(lambda: not pending(server, left))
    assert not server.ended(2)
    assert not {one["ID"] for one in server.call("GET", "jobs")} & left


def pending(server: Server, jobs: set[str]) -> list[Any]:
    return [one for one in server.call("GET", "evaluations") if one["JobID"] in jobs and one["Status"] == "pending"]


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)
