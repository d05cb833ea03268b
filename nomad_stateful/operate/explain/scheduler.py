"""Why the scheduler places nothing, from what it counted on an evaluation.

Its words: https://github.com/hashicorp/nomad/blob/v1.11.3/scheduler/feasible/feasible.go
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from nomad_stateful.nomad.fingerprint import ZONE_REFERENCE
from nomad_stateful.operate.explain import volumes
from nomad_stateful.operate.explain.reason import RUNBOOK, Reason, Scene, zones_of

Match = re.Match[str]
Metrics = dict[str, Any]
_CONSTRAINT = "https://developer.hashicorp.com/nomad/docs/job-specification/constraint"
_TOPOLOGY = "did not meet topology requirement"
# Said of clients that are like one that was looked at: the reason is that one's.
_ALIKE = "computed class ineligible"
_ZONE = rf"{re.escape(ZONE_REFERENCE)} = (\S+)"


def reasons(scene: Scene, metrics: Metrics, volume_ids: list[str]) -> Iterator[Reason]:
    """Yields the reasons; clients outside of the volume's zone are none, unless no other was looked at."""
    filtered = {key: int(count) for key, count in (metrics.get("ConstraintFiltered") or {}).items() if key != _ALIKE}
    exhausted = {key: int(count) for key, count in (metrics.get("DimensionExhausted") or {}).items()}
    outside = filtered.pop(_TOPOLOGY, 0)
    for said, count in filtered.items():
        yield from _filtered(scene, said, count, volume_ids if outside else [])
    for said, count in exhausted.items():
        yield _exhausted(metrics, said, count)
    if outside and not filtered and not exhausted:
        yield from _topology(scene, volume_ids)
    if not metrics.get("NodesEvaluated"):
        yield _no_client(scene, metrics)


def _filtered(scene: Scene, said: str, count: int, volume_ids: list[str]) -> Iterator[Reason]:
    if found := re.fullmatch(_ZONE, said):
        yield _zone(scene, found[1], volume_ids)
        return
    for pattern, told in _FILTERS:
        if found := re.fullmatch(pattern, said):
            yield from told(scene, found)
            return
    why = f"{_clients(count)} looked at without it; Nomad places the job as soon as one does"
    yield Reason(f"constraint: {said}", why, "nomad node status -verbose NODE", _CONSTRAINT)


def _in_use(scene: Scene, found: Match) -> Iterator[Reason]:
    yield from volumes.in_use(scene, found[1])


def _missing_volume(scene: Scene, found: Match) -> Iterator[Reason]:
    yield volumes.not_registered(scene, found[1])


def _missing_plugin(_scene: Scene, found: Match) -> Iterator[Reason]:
    why = "its node plugin does not run there: not placed, not started, or its constraints leave that client out"
    command = f"nomad plugin status -verbose {found[1]}"
    yield Reason(f"CSI plugin {found[1]} does not run on client {found[2]}", why, command, RUNBOOK)


def _unhealthy_plugin(scene: Scene, found: Match) -> Iterator[Reason]:
    info = ((scene.facts.plugin(found[1]) or {}).get("Nodes") or {}).get(found[2]) or {}
    said = f" ({info['HealthDescription']})" if info.get("HealthDescription") else ""
    command = f"nomad alloc logs -stderr{scene.scope} {str(info.get('AllocID') or 'ALLOCATION')[:8]}"
    why = "no volume can be mounted there until it is healthy again; Nomad asks it every 30 s"
    yield Reason(f"CSI plugin {found[1]} is unhealthy on client {found[2]}{said}", why, command, RUNBOOK)


def _full(_scene: Scene, found: Match) -> Iterator[Reason]:
    why = "the instance type's limit of attached volumes, as the driver tells it; the job waits until one is detached"
    next_ = "nomad-stateful doctor (attach slots left); start another client in the zone, or a larger instance type"
    link = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/volume_limits.html"
    yield Reason(f"client {found[2]} has the most volumes of CSI plugin {found[1]} that it can have", why, next_, link)


def _unschedulable(scene: Scene, found: Match) -> Iterator[Reason]:
    volume = scene.volume(found[1]) or {}
    counts = [
        f"{volume.get(f'{role}sHealthy', 0)} of {volume.get(f'{role}sExpected', 0)} {role.lower()}s"
        for role in ("Controller", "Node")
    ]
    plugin = f"CSI plugin {volume.get('PluginID', '?')}"
    what = f"volume {found[1]} is not schedulable: {' and '.join(counts)} of {plugin} are healthy"
    why = (
        "Nomad places no consumer until a controller and a node plugin are healthy, or the job asks for a mode it lacks"
    )
    yield Reason(what, why, f"nomad plugin status -verbose {volume.get('PluginID', 'PLUGIN')}", RUNBOOK)


def _drivers(_scene: Scene, _found: Match) -> Iterator[Reason]:
    what, why = "no client has the job's task driver, healthy", "the job waits until one has"
    link = "https://developer.hashicorp.com/nomad/docs/drivers"
    yield Reason(what, why, "nomad-stateful doctor (task drivers)", link)


def _zone(scene: Scene, zone: str, volume_ids: list[str]) -> Reason:
    """Returns what a constraint to a zone leaves; the volumes are given where clients lack their topology."""
    for volume_id in volume_ids:
        volume = scene.volume(volume_id)
        zones = zones_of(volume) if volume else []
        if zones and zone not in zones:
            what = f"the job is bound to {zone}, and its volume {volume_id} is in {', '.join(zones)}"
            why = "no client is in both: Nomad never places it"
            return Reason(
                what, why, f"bind the job to {zones[0]}, or give it a volume of {zone}; pulumi up", "docs/volumes.md"
            )
    return _zones(scene, f"the job is bound to {zone}", [zone])


def _distinct(_scene: Scene, _found: Match) -> Iterator[Reason]:
    what = "each instance wants a client of its own (distinct_hosts), and there are no more clients"
    yield Reason(what, "the others wait for a client", "start another client, or ask for fewer instances", _CONSTRAINT)


_FILTERS: tuple[tuple[str, Callable[[Scene, Match], Iterator[Reason]]], ...] = (
    (r"CSI volume (\S+) has exhausted its available writer claims.*", _in_use),
    (r"CSI volume (\S+) is unschedulable or .*", _unschedulable),
    (r"missing CSI Volume (\S+)", _missing_volume),
    (r"CSI plugin (\S+) is missing from client (\S+)", _missing_plugin),
    (r"CSI plugin (\S+) is unhealthy on client (\S+)", _unhealthy_plugin),
    (r"CSI plugin (\S+) has the maximum number of volumes on client (\S+)", _full),
    (r"missing drivers", _drivers),
    (r"distinct_hosts", _distinct),
)
"""The scheduler's words, as whole lines, and what they mean; the first that matches counts."""


def _topology(scene: Scene, volume_ids: list[str]) -> Iterator[Reason]:
    for volume_id in volume_ids:
        volume = scene.volume(volume_id)
        zones = zones_of(volume) if volume else []
        if zones:
            yield _zones(scene, f"volume {volume_id} is in {', '.join(zones)}", zones)


def _zones(scene: Scene, what: str, zones: list[str]) -> Reason:
    inside = [f"{client.name} is {client.state}" for client in scene.clients_of(zones)]
    told = f"no client there can take it: {'; '.join(inside)}" if inside else "there is no client in that zone"
    next_ = (
        "nomad node eligibility -enable NODE"
        if any("eligible" in one or "drain" in one for one in inside)
        else "start a client there"
    )
    why = "an EBS volume is attached in its own zone only; Nomad places the job as soon as a client there is ready"
    return Reason(f"{what}, and {told}", why, next_, "docs/volumes.md")


def _exhausted(metrics: Metrics, said: str, count: int) -> Reason:
    asked = (metrics.get("ResourcesExhausted") or {}).values()
    units = {"memory": ("MemoryMB", "MiB of memory"), "cpu": ("CPU", "MHz"), "disk": ("DiskMB", "MiB of disk")}
    amount = ""
    if said in units:
        key, unit = units[said]
        amount = f": it asks for {sum(int(one.get(key) or 0) for one in asked if one)} {unit}"
    what = f"not enough {said} is left on {_clients(count)} able to run it{amount}"
    if "port" in said:
        what = f"a port that the job reserves is in use on {_clients(count)} able to run it ({said})"
    next_ = "nomad node status -stats NODE; ask for less, stop what is there, or start another client in the zone"
    return Reason(what, "Nomad places the job as soon as there is room", next_, "docs/consumers.md")


def _clients(count: int) -> str:
    return "the only client" if count == 1 else f"{count} clients"


def _no_client(scene: Scene, metrics: Metrics) -> Reason:
    away = [f"{client.name} is {client.state}" for client in scene.clients() if not client.takes_work]
    pool = metrics.get("NodePool") or "the job's node pool"
    what = f"no client of node pool {pool} and the job's datacenters is ready and eligible"
    told = f" ({'; '.join(away)})" if away else ""
    return Reason(what + told, "the job waits for one", "nomad node status", _CONSTRAINT)
