"""Instances of a CSI plugin that were just placed: not healthy yet, and nothing wrong until `START_S` are over.

A driver that runs is found healthy half a minute later, as after a drain: Nomad looks for its socket, then every 30 s.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from nomad_stateful.nomad.api import NomadApi, NomadError
from nomad_stateful.nomad.csi_diagnosis import plugin_jobs
from nomad_stateful.nomad.running_job import allocations, is_live

START_S: Final = 120.0
"""How long an instance may take, image and all."""

_ROLES: Final = {"controller": ("Controllers",), "node": ("Nodes",), "monolith": ("Controllers", "Nodes")}


@dataclass(frozen=True)
class Start:
    """An allocation that starts an instance of a plugin."""

    alloc_id: str
    node_id: str
    client: str
    since: datetime
    """When it was placed."""
    roles: tuple[str, ...]
    """Controllers, Nodes or both, as Nomad has them in the plugin's body."""


def starts(api: NomadApi, plugin_id: str, plugin: Mapping[str, Any] | None, now: datetime | None = None) -> list[Start]:
    """Returns the instances that are starting, by the body of /v1/plugin/csi/<id>; none where they may not be read.

    One that was restarted, or replaces one that failed, is not: it may be going on like that.
    """
    healthy = {
        str(info.get("AllocID"))
        for role in ("Controllers", "Nodes")
        for info in ((plugin or {}).get(role) or {}).values()
        if info and info.get("Healthy")
    }
    try:
        found = [one for job in plugin_jobs(api, plugin_id) for one in _of_job(api, plugin_id, job)]
    except NomadError:
        return []
    at = now or datetime.now(UTC)
    return [one for one in found if one.alloc_id not in healthy and abs((at - one.since).total_seconds()) < START_S]


def words(start: Start) -> str:
    """Returns what is starting, since when, and when it is late, for messages."""
    what = "a controller" if "Controllers" in start.roles else "the node plugin"
    late = start.since + timedelta(seconds=START_S)
    place = f"allocation {start.alloc_id[:8]}, client {start.client}"
    return f"{what} is starting since {start.since:%H:%M:%S} UTC and counts as wrong from {late:%H:%M:%S} ({place})"


def controllers_of(found: Sequence[Start]) -> list[Start]:
    """Returns those that are controllers."""
    return [one for one in found if "Controllers" in one.roles]


def nodes_of(found: Sequence[Start]) -> list[Start]:
    """Returns those that are node plugins."""
    return [one for one in found if "Nodes" in one.roles]


def _of_job(api: NomadApi, plugin_id: str, job: Mapping[str, Any]) -> Iterator[Start]:
    roles = {
        str(group.get("Name")): _ROLES.get(str(plugin.get("Type")), ())
        for group in job.get("TaskGroups") or []
        for task in group.get("Tasks") or []
        if (plugin := task.get("CSIPluginConfig") or {}).get("ID") == plugin_id
    }
    for stub in allocations(api, job["ID"], job["Namespace"]):
        if is_live(stub) and not _failed_before(stub):
            since = datetime.fromtimestamp(int(stub.get("CreateTime") or 0) / 1e9, UTC)
            own = roles.get(str(stub.get("TaskGroup")), ())
            yield Start(str(stub["ID"]), str(stub["NodeID"]), str(stub["NodeName"]), since, own)


def _failed_before(stub: Mapping[str, Any]) -> bool:
    restarted = any(int(task.get("Restarts") or 0) for task in (stub.get("TaskStates") or {}).values() if task)
    return restarted or bool((stub.get("RescheduleTracker") or {}).get("Events"))
