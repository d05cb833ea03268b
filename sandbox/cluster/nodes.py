"""The Nomad clients as the server sees them."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Final

from nomad_stateful.nomad.api import NomadApi
from sandbox.cluster.client import TASK_DRIVERS
from sandbox.settings import SandboxError, SandboxSettings

ZONE_ATTRIBUTE: Final = "platform.aws.placement.availability-zone"
INSTANCE_ATTRIBUTE: Final = "unique.platform.aws.instance-id"


@dataclass(frozen=True)
class Client:
    """One Nomad client."""

    node_id: str
    name: str
    zone: str
    instance_id: str
    status: str
    eligible: bool
    drivers: tuple[str, ...]

    def is_ready(self, task_drivers: Collection[str]) -> bool:
        """Whether it takes work for these task drivers and knows where it is."""
        return self.status == "ready" and bool(self.zone) and set(task_drivers) <= set(self.drivers)


def clients(api: NomadApi) -> list[Client]:
    """All clients the server knows, the newest of each name, by name."""
    found: dict[str, Client] = {}
    for stub in sorted(api.get("nodes"), key=lambda node: int(node["CreateIndex"])):
        attributes = api.get(f"node/{stub['ID']}")["Attributes"] or {}
        found[stub["Name"]] = _client(stub, attributes)
    return [found[name] for name in sorted(found)]


def _client(stub: dict[str, Any], attributes: dict[str, str]) -> Client:
    drivers = stub.get("Drivers") or {}
    return Client(
        node_id=stub["ID"],
        name=stub["Name"],
        zone=attributes.get(ZONE_ATTRIBUTE, ""),
        instance_id=attributes.get(INSTANCE_ATTRIBUTE, ""),
        status=stub["Status"],
        eligible=stub["SchedulingEligibility"] == "eligible",
        drivers=tuple(sorted(name for name, driver in drivers.items() if driver and driver.get("Healthy"))),
    )


def await_ready(
    api: NomadApi, settings: SandboxSettings, timeout_s: float, still_wanted: Callable[[], bool] = lambda: True
) -> list[Client]:
    """Waits until every instance of the settings is a ready client.

    Raises:
        SandboxError: at the deadline; names the clients that are missing and where their logs are.
    """
    deadline = time.monotonic() + timeout_s
    wanted = {spec.name for spec in settings.instances}
    index = 0
    while still_wanted():
        _, index = api.get_indexed("nodes", index=index, wait_s=1)
        ready = [client for client in clients(api) if client.name in wanted and client.is_ready(TASK_DRIVERS)]
        if len(ready) == len(wanted):
            return ready
        if time.monotonic() > deadline:
            missing = ", ".join(sorted(wanted - {client.name for client in ready}))
            where = f"Their logs are in {settings.log_dir}."
            raise SandboxError(f"The Nomad clients {missing} are not ready after {timeout_s:.0f} s. {where}")
    raise SandboxError("The Nomad clients are no longer waited for.")
