"""A Nomad agent, server and client in one, on free loopback ports and with nothing left of it afterwards."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from nomad_stateful.nomad.api import NomadApi, NomadApiError, NomadError
from nomad_stateful.nomad.consumer_job import ConsumerJob
from nomad_stateful.waiting import Context
from sandbox.machine import processes
from sandbox.machine.machine import descendants
from tests.ports import unused_ports

READY_S = 60.0
STOPPED_S = 60.0

_CONFIG = """
name       = "conformance"
region     = "global"
datacenter = "dc1"
data_dir   = "{data_dir}"
bind_addr  = "127.0.0.1"
ports {{
  http = {http}
  rpc  = {rpc}
  serf = {serf}
}}
client {{
  servers = ["127.0.0.1:{rpc}"]
  options {{
    "fingerprint.denylist" = "env_aws,env_gce,env_azure,env_digitalocean"
    "driver.allowlist"     = "raw_exec"
  }}
}}
plugin "raw_exec" {{
  config {{
    enabled = true
  }}
}}
"""


_ACL = """
acl {
  enabled = true
}
"""


class Agent:
    """A running agent and the means to look behind the plugin's back."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, log: Path, token: str = "") -> None:
        self._process = process
        self._log = log
        self._token = token
        self.address = f"http://127.0.0.1:{port}"
        self.api = NomadApi(self.address, token)

    def log_tail(self) -> str:
        return self._log.read_text(errors="replace")[-3000:]

    def wait_until_ready(self) -> None:
        def ready() -> bool:
            if self._process.poll() is not None:
                raise AssertionError(f"the agent ended:\n{self.log_tail()}")
            with contextlib.suppress(NomadError):
                if self._token:
                    self._bootstrap()
                return any(node["Status"] == "ready" for node in self.api.get("nodes") or [])
            return False

        eventually(ready, READY_S, lambda: f"the agent is not ready:\n{self.log_tail()}")

    def _bootstrap(self) -> None:
        """Has the agent take the management token; once it has one it refuses the next."""
        with contextlib.suppress(NomadApiError):
            self.api.put("acl/bootstrap", {"BootstrapSecret": self._token})

    def allocations(self, job: str, namespace: str = "default") -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.api.get(f"job/{job}/allocations", namespace=namespace, all=True) or []
        return found

    def running(self, job: str, namespace: str = "default") -> bool:
        return any(item["ClientStatus"] == "running" for item in self.allocations(job, namespace))

    def await_evaluated(self, job: str, namespace: str = "default") -> None:
        """Returns once the job can be purged: a purge that overtakes its evaluation ends the agent."""
        ConsumerJob(self.api, namespace, job).await_evaluated(Context())

    def purge(self, job: str, namespace: str = "default") -> None:
        """Stops and purges the job once Nomad has evaluated it, and waits until nothing of it runs."""
        self.await_evaluated(job, namespace)
        self.api.delete(f"job/{job}", purge=True, namespace=namespace)
        eventually(lambda: not self.running(job, namespace), STOPPED_S, lambda: f"{job} still runs")

    def purge_all(self) -> None:
        jobs = self.api.get("jobs", namespace="*") or []
        for job in jobs:
            self.purge(job["ID"], job["Namespace"])
        # Jobs that a test has purged may still be stopping: an agent that ends first leaves their tasks behind.
        eventually(lambda: not self._alive(), STOPPED_S, lambda: f"still alive: {self._alive()}")

    def _alive(self) -> list[str]:
        found = self.api.get("allocations", namespace="*") or []
        return [f"{item['JobID']}/{item['ID']}" for item in found if item["ClientStatus"] in ("pending", "running")]


def eventually(condition: Callable[[], bool], timeout_s: float, message: Callable[[], str]) -> None:
    """Waits for a condition that nothing announces."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(message())
        time.sleep(0.1)


def nomad_binary() -> str | None:
    """The nomad on PATH, else the one in the toolchain's cache."""
    found = shutil.which("nomad")
    if found:
        return found
    from tools import toolchain

    cached = toolchain.find()
    return str(cached.nomad) if cached else None


@contextlib.contextmanager
def running_agent(nomad: str, folder: Path, *, acl: bool = False) -> Iterator[Agent]:
    """Starts an agent whose data is in `folder`; stops its jobs, then the agent. With `acl` its API has a token."""
    http, rpc, serf = unused_ports(3)
    config = folder / "agent.hcl"
    text = _CONFIG.format(data_dir=folder / "data", http=http, rpc=rpc, serf=serf)
    config.write_text(text + (_ACL if acl else ""))
    env = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "NOMAD_"))}
    log = folder / "agent.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [nomad, "agent", "-dev", f"-config={config}"], stdout=output, stderr=output, env=env, start_new_session=True
        )
    agent = Agent(process, http, log, str(uuid.uuid4()) if acl else "")
    try:
        agent.wait_until_ready()
        yield agent
        agent.purge_all()
    finally:
        agent.api.close()
        # An agent leaves the helpers of tasks that it is still ending: without a parent they would stay for good.
        helpers = [processes.identify(pid) for pid in descendants(process.pid)]
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for helper in helpers:
            processes.stop_process(helper)
        _unmount_below(folder)


def _unmount_below(folder: Path) -> None:
    """Mounts that a killed client left."""
    mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    for mount in sorted((m for m in mounts if m.startswith(f"{folder}/")), reverse=True):
        subprocess.run(["umount", mount], check=False)
