"""Nomad's clients: what the cluster knows of each, and what takes one out of service."""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.fingerprint import INSTANCE_ATTRIBUTE, ZONE_ATTRIBUTE

Json = Mapping[str, Any]
GONE = "gone"
"""Status of a client that Nomad no longer knows."""
_PARALLEL = 8


@dataclass(frozen=True)
class ClientStub:
    """A client as the list of all has it: where it is takes a request of its own."""

    id: str
    name: str
    status: str
    """ready, down, disconnected, initializing, or GONE."""
    eligible: bool = True
    draining: bool = False
    pool: str = "default"
    datacenter: str = ""
    drivers: Mapping[str, Json] = field(default_factory=dict, compare=False)
    """Its task drivers by name, also those that are not healthy."""
    create_index: int = 0
    """The later one of two that registered has the larger."""

    @property
    def state(self) -> str:
        """Its status, with what keeps new allocations away: also draining or ineligible."""
        if self.status != "ready":
            return self.status
        return "draining" if self.draining else ("ready" if self.eligible else "ineligible")

    @property
    def takes_work(self) -> bool:
        """Whether it gets new allocations."""
        return self.state == "ready"

    @property
    def is_up(self) -> bool:
        """Whether it answers Nomad, or is about to."""
        return self.status in ("ready", "initializing")

    @property
    def healthy_drivers(self) -> list[str]:
        """Its task drivers that are healthy, sorted."""
        return sorted(name for name, driver in self.drivers.items() if driver and driver.get("Healthy"))

    def __str__(self) -> str:
        return f"client {self.name} ({self.id[:8]})"


@dataclass(frozen=True)
class Client(ClientStub):
    """A client with all that Nomad knows of it."""

    zone: str = ""
    """Empty where it has none."""
    instance_id: str = ""
    """Empty where it is not an EC2 instance."""
    version: str = ""
    cpu_mhz: int = 0
    """What it has for jobs, as memory_mib: without what it keeps for itself."""
    memory_mib: int = 0
    http_address: str = ""
    """HOST:PORT of its agent."""
    has_tls: bool = False
    status_since: float = 0
    """Unix time of its status; 0 where Nomad does not say."""
    attributes: Mapping[str, str] = field(default_factory=dict, compare=False)
    node_plugins: Mapping[str, Json] = field(default_factory=dict, compare=False)
    """What it says of its CSI node plugins, by plugin id."""
    events: tuple[Json, ...] = field(default=(), compare=False)
    """Its last ten, the newest last."""

    def has_healthy_plugin(self, plugin_id: str) -> bool:
        """Returns whether the CSI plugin's node plugin is healthy here."""
        return bool((self.node_plugins.get(plugin_id) or {}).get("Healthy"))

    def plugin_node(self, plugin_id: str) -> Json:
        """Returns what the node plugin says of the client, such as its ID and MaxVolumes; {} before it registered."""
        return (self.node_plugins.get(plugin_id) or {}).get("NodeInfo") or {}


def gone(client_id: str) -> Client:
    """Returns a client that something refers to and Nomad no longer knows."""
    return Client(client_id, client_id[:8], GONE)


def listed(api: NomadApi) -> list[ClientStub]:
    """Returns every client, sorted by name, by one request. Raises NomadError."""
    stubs = [ClientStub(**_listed(body)) for body in api.get("nodes") or []]
    return sorted(stubs, key=lambda one: (one.name, one.id))


def read(api: NomadApi, stubs: Iterable[ClientStub] | None = None) -> list[Client]:
    """Returns those of the list, by default all, whole; one that was collected since is left out. Raises NomadError."""
    with ThreadPoolExecutor(_PARALLEL) as pool:
        found = pool.map(lambda stub: find(api, stub.id), listed(api) if stubs is None else stubs)
        return [one for one in found if one is not None]


def find(api: NomadApi, client_id: str) -> Client | None:
    """Returns a client; None where Nomad has no such client. Raises NomadError."""
    body = api.find(f"node/{client_id}")
    return None if body is None else _client(body)


def get(api: NomadApi, client_id: str) -> Client:
    """Returns a client. Raises NomadNotFound, NomadError."""
    return _client(api.get(f"node/{client_id}"))


class Zones:
    """The zone of a client by its id, each read once; "" where it has none or Nomad does not know it."""

    def __init__(self, api: NomadApi) -> None:
        self._api = api
        self._known: dict[str, str] = {}

    def __call__(self, client_id: str) -> str:
        """Raises NomadError."""
        if client_id not in self._known:
            client = find(self._api, client_id)
            if client is None:
                return ""  # it may register yet
            self._known[client_id] = client.zone
        return self._known[client_id]


def drain(api: NomadApi, client_id: str, deadline_s: float, *, keep_system: bool, message: str) -> None:
    """Has Nomad move what runs on a client, system jobs too unless kept. Takes node:write. Raises NomadError."""
    spec = {"Deadline": int(deadline_s * 1e9), "IgnoreSystemJobs": keep_system}
    body = {"NodeID": client_id, "DrainSpec": spec, "MarkEligible": False, "Meta": {"message": message}}
    api.put(f"node/{client_id}/drain", body)


def undrain(api: NomadApi, client_id: str) -> None:
    """Ends a drain, if there is one, and makes the client eligible. Takes node:write. Raises NomadError."""
    api.put(f"node/{client_id}/drain", {"NodeID": client_id, "DrainSpec": None, "MarkEligible": True})
    set_eligible(api, client_id, eligible=True)


def set_eligible(api: NomadApi, client_id: str, *, eligible: bool) -> None:
    """Says whether a client gets new allocations. Takes node:write. Raises NomadError."""
    word = "eligible" if eligible else "ineligible"
    api.put(f"node/{client_id}/eligibility", {"NodeID": client_id, "Eligibility": word})


def purge(api: NomadApi, client_id: str) -> None:
    """Has Nomad forget a client and its claims; it registers again if it comes back. Raises NomadError."""
    api.put(f"node/{client_id}/purge", {})


def _listed(body: Json) -> dict[str, Any]:
    return {
        "id": str(body["ID"]),
        "name": str(body.get("Name") or body["ID"][:8]),
        "status": str(body.get("Status") or ""),
        "eligible": body.get("SchedulingEligibility") != "ineligible",
        "draining": bool(body.get("Drain") or body.get("DrainStrategy")),
        "pool": str(body.get("NodePool") or "default"),
        "datacenter": str(body.get("Datacenter") or ""),
        "drivers": body.get("Drivers") or {},
        "create_index": int(body.get("CreateIndex") or 0),
    }


def _client(body: Json) -> Client:
    attributes = body.get("Attributes") or {}
    return Client(
        **_listed(body),
        zone=str(attributes.get(ZONE_ATTRIBUTE) or ""),
        instance_id=str(attributes.get(INSTANCE_ATTRIBUTE) or ""),
        version=str(attributes.get("nomad.version") or ""),
        cpu_mhz=_for_jobs(body, "Cpu", "CpuShares"),
        memory_mib=_for_jobs(body, "Memory", "MemoryMB"),
        http_address=str(body.get("HTTPAddr") or ""),
        has_tls=bool(body.get("TLSEnabled")),
        status_since=float(body.get("StatusUpdatedAt") or 0),
        attributes=attributes,
        node_plugins=body.get("CSINodePlugins") or {},
        events=tuple(body.get("Events") or ()),
    )


def _for_jobs(body: Json, kind: str, unit: str) -> int:
    of_all, reserved = (((body.get(f"{which}Resources") or {}).get(kind) or {}) for which in ("Node", "Reserved"))
    return int(of_all.get(unit) or 0) - int(reserved.get(unit) or 0)
