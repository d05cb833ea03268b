"""Why something does not go on, and what is asked to find out."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from nomad_stateful.nomad import clients
from nomad_stateful.nomad.clients import Client
from nomad_stateful.nomad.commands import scope
from nomad_stateful.nomad.paths import job_path, volume_path
from nomad_stateful.operate.doctor.facts import Facts, Json
from nomad_stateful.recovery.volume_usage import VolumeUsage

RUNBOOK = "docs/runbook.md"


@dataclass(frozen=True)
class Reason:
    """One thing that keeps a job or volume waiting."""

    what: str
    why: str
    """How that keeps it waiting, and until when."""
    next: str
    """The next command."""
    link: str = f"{RUNBOOK}#what-holds-a-volume"


class Scene:
    """Nomad and EC2 as an explanation asks for them; each thing is read once."""

    def __init__(self, facts: Facts, namespace: str) -> None:
        self.facts = facts
        self.namespace = namespace
        self.scope = scope(namespace)
        """The option by which Nomad's command finds what is in the namespace."""

    def read(self, path: str) -> Any:
        """Returns what is at a path in the namespace; None where there is nothing. Raises NotChecked."""
        return self.facts.find(path, self.namespace)

    def job(self, job_id: str) -> Json | None:
        """Returns a job; None where there is none."""
        found: Json | None = self.read(job_path(job_id))
        return found

    def of_job(self, job_id: str, what: str) -> list[Json]:
        """Returns a job's allocations, evaluations or deployments, the newest first."""
        found = self.read(f"{job_path(job_id)}/{what}") or []
        return sorted(found, key=lambda one: int(one["CreateIndex"]), reverse=True)

    def volume(self, volume_id: str) -> Json | None:
        """Returns a CSI volume; None where it is not registered."""
        found: Json | None = self.read(volume_path(volume_id))
        return found

    def usage(self, volume: Json) -> VolumeUsage:
        """Returns what holds a volume, in Nomad and in EC2."""
        return self.facts.usage(self.namespace, str(volume["ID"]), str(volume["ExternalID"]))

    def clients(self) -> list[Client]:
        """Returns every client, also those that are down."""
        api = self.facts.nomad()
        return self.facts.once("every client", lambda: clients.read(api))

    def clients_of(self, zones: Collection[str]) -> list[Client]:
        """Returns the clients in these zones."""
        return [client for client in self.clients() if client.zone in zones]


def zones_of(volume: Json) -> list[str]:
    """Returns the zones from which a volume can be reached; none where its plugin reports no topology."""
    requested = (volume.get("RequestedTopologies") or {}).get("Required") or []
    segments: list[Mapping[str, str]] = [
        one.get("Segments") or {} for one in [*(volume.get("Topologies") or []), *requested]
    ]
    return sorted({value for one in segments for key, value in one.items() if key.endswith("/zone")})
