"""The Nomad clients as the server sees them."""

from __future__ import annotations

import time

from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.clients import Client, read
from sandbox.cluster.client import TASK_DRIVERS
from sandbox.settings import SandboxError, SandboxSettings


def clients(api: NomadApi) -> list[Client]:
    """All clients the server knows, the newest of each name, by name."""
    newest = {one.name: one for one in sorted(read(api), key=lambda one: one.create_index)}
    return [newest[name] for name in sorted(newest)]


def is_ready(client: Client) -> bool:
    """Whether it takes work for the sandbox's task drivers and knows where it is."""
    return client.status == "ready" and bool(client.zone) and set(TASK_DRIVERS) <= set(client.healthy_drivers)


def await_ready(api: NomadApi, settings: SandboxSettings, timeout_s: float) -> list[Client]:
    """Waits until every instance of the settings is a ready client.

    Raises:
        SandboxError: at the deadline; names the clients that are missing and where their logs are.
    """
    deadline = time.monotonic() + timeout_s
    wanted = {spec.name for spec in settings.instances}
    index = 0
    while True:
        _, index = api.get_indexed("nodes", index=index, wait_s=1)
        ready = [client for client in clients(api) if client.name in wanted and is_ready(client)]
        if len(ready) == len(wanted):
            return ready
        if time.monotonic() > deadline:
            missing = ", ".join(sorted(wanted - {client.name for client in ready}))
            where = f"Their logs are in {settings.log_dir}."
            raise SandboxError(f"The Nomad clients {missing} are not ready after {timeout_s:.0f} s. {where}")
