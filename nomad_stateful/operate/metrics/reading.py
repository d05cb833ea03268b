"""Reads the gauges: what one source does not answer is missing, and the others are there."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from nomad_stateful.drivers.catalogue import DRIVERS
from nomad_stateful.ebs.snapshots import EbsSnapshots, newest_by_volume
from nomad_stateful.ebs.volumes import is_ebs_volume
from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad import clients
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.clients import Client
from nomad_stateful.nomad.csi_health import assess
from nomad_stateful.nomad.paths import plugin_path
from nomad_stateful.nomad.periodic_runs import failing_runs, newest_success
from nomad_stateful.operate import group, stack
from nomad_stateful.operate.cluster import connect
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.metrics.gauges import Gauges
from nomad_stateful.operate.point_in_time.logs import copied_until
from nomad_stateful.operate.stack import DatabaseOutputs
from nomad_stateful.operate.volumes import stack_volumes
from nomad_stateful.recovery.plan import dead_claims, recovery_plans

Json = Mapping[str, Any]
_FAILURES = (OperateError, ProviderError, BotoCoreError, ClientError)


def read(said: Callable[[str], None]) -> Gauges:
    """Returns all gauges; `said` takes a line for each source that did not answer."""
    gauges = Gauges()

    def attempt(source: str, of: Callable[[], None]) -> None:
        try:
            of()
        except _FAILURES as error:
            said(f"{source}: {' '.join(str(error).split())}")
            gauges.set("read_success", source, value=0)
        else:
            gauges.set("read_success", source, value=1)

    attempt("stack", lambda: _of_stack(gauges))
    if gauges.samples["read_success"][0][1]:
        attempt("nomad", lambda: _of_nomad(gauges, said))
        attempt("ec2", lambda: _of_ec2(gauges))
        server = stack.database()
        if server and (logs := server.point_in_time):
            attempt("s3", lambda: _of_s3(gauges, server.job, logs))
    gauges.set("read_timestamp_seconds", value=datetime.now(UTC).timestamp())
    return gauges


def _of_stack(gauges: Gauges) -> None:
    known = stack.outputs()
    for name, volume in sorted((known.get("volumes") or {}).items()):
        gauges.set("volume_snapshot_schedules", name, value=len(_settings_of(name).get("snapshots") or []))
        if not volume.get("id"):
            raise stack.StackError(f"the stack has no id of volume {name} yet: run `pulumi up` first")
    if server := stack.database():
        gauges.set("database_expected", server.service, value=1)
        if server.backup:
            gauges.set("dump_scheduled", server.backup["job"], value=1)


def _settings_of(name: str) -> Json:
    """Returns the settings of a volume, or of the set that it belongs to."""
    found = stack.config().get("nomad-stateful:volumes") or []
    return next((one for one in found if one["name"] == name.partition("[")[0]), {})


def _of_nomad(gauges: Gauges, said: Callable[[str], None]) -> None:
    with closing(connect()) as nomad:
        _plugins(gauges, nomad)
        _volumes(gauges, nomad)
        _dumps(gauges, nomad)
        if server := stack.database():
            _group(gauges, nomad, server, said)


def _plugins(gauges: Gauges, nomad: NomadApi) -> None:
    known = stack.outputs()
    settings = {str(one["id"]): one for one in stack.config().get("nomad-stateful:plugins") or []}
    there = clients.read(nomad)
    zone_of = {one.id: one.zone for one in there}
    _clients(gauges, there)
    for plugin_id in sorted(known.get("plugins") or {}):
        driver = DRIVERS[str(settings.get(plugin_id, {}).get("driver") or "ebs")]
        found = nomad.find(plugin_path(plugin_id)) or {}
        health = assess(found, driver.topology_keys, lambda node_id: zone_of.get(node_id, ""))
        wanted = int(settings.get(plugin_id, {}).get("controllers") or driver.controllers)
        gauges.set("plugin_controllers", plugin_id, value=wanted)
        gauges.set("plugin_controllers_healthy", plugin_id, value=health.controllers)
        placed = Counter(zone_of.get(node_id, "") for node_id in found.get("Nodes") or {})
        needed = {
            str(volume.get("zone") or "")
            for volume in (known.get("volumes") or {}).values()
            if volume.get("plugin") == plugin_id and volume.get("zone")
        }
        for zone in sorted({*placed, *needed}):
            gauges.set("plugin_nodes", plugin_id, zone, value=max(placed[zone], int(zone in needed)))
            gauges.set("plugin_nodes_healthy", plugin_id, zone, value=health.zones.get(zone, 0))


def _clients(gauges: Gauges, there: Sequence[Client]) -> None:
    """One of each zone's is always told, so that a zone whose clients are lost shows 0 that are ready."""
    found: Counter[tuple[str, str]] = Counter()
    for one in there:
        found[one.zone, "ready"] += int(one.takes_work)
        if not one.takes_work:
            found[one.zone, "ineligible" if one.status == "ready" else one.status] += 1
    for (zone, status), count in sorted(found.items()):
        gauges.set("clients", zone, status, value=count)


def _volumes(gauges: Gauges, nomad: NomadApi) -> None:
    known = stack.outputs().get("volumes") or {}
    for volume in list(stack_volumes(nomad)):
        usage, name = volume.usage, volume.name
        zone, plugin = str(known[name].get("zone") or ""), str(known[name].get("plugin") or usage.plugin_id)
        gauges.set("volume_info", name, usage.external_id, plugin, zone, usage.namespace, value=1)
        gauges.set("volume_claims", name, value=len(usage.claims))
        gauges.set("volume_dead_claims", name, value=len(dead_claims(usage)))
        gauges.set("volume_problems", name, value=len(recovery_plans(usage, wanted_free=False)))
        if usage.attached is not None:
            gauges.set("volume_attachments", name, value=len(usage.attached.attachments))


def _dumps(gauges: Gauges, nomad: NomadApi) -> None:
    server = stack.database()
    if server is None or not server.backup:
        return
    job, namespace = str(server.backup["job"]), server.namespace
    gauges.set("dump_failing_runs", job, value=len(failing_runs(nomad, job, namespace)))
    newest = newest_success(nomad, job, namespace)
    if newest is not None:
        gauges.set("dump_last_success_timestamp_seconds", job, value=newest)


def _group(gauges: Gauges, nomad: NomadApi, server: DatabaseOutputs, said: Callable[[str], None]) -> None:
    """What nobody says is missing, so that it is told from a member that is well and from one that is not."""
    service = server.service
    if server.max_lag_s is not None:
        gauges.set("group_lag_limit_seconds", service, value=server.max_lag_s)
    for own, one in zip(server.members, group.states(nomad, server), strict=False):
        gauges.set("group_member_info", service, own.job, own.zone, own.volume, value=1)
        if not one.state:
            said(f"{service}: {one}")
            continue
        gauges.set("group_member_online", service, own.job, value=one.is_online)
        gauges.set("group_member_primary", service, own.job, value=one.is_primary)
        if one.is_online and one.lag_s is not None:
            gauges.set("group_member_lag_seconds", service, own.job, value=one.lag_s)
    for router in group.routers(nomad, server):
        if router.passes is None:
            said(f"{service}: the router on {router.client} cannot be asked: {router.why}")
            continue
        gauges.set("group_router_primary", service, router.client, value=router.passes)


def _of_ec2(gauges: Gauges) -> None:
    names = {str(one["id"]): name for name, one in (stack.outputs().get("volumes") or {}).items()}
    ids = sorted(volume_id for volume_id in names if is_ebs_volume(volume_id))
    if not ids:
        return
    states: Counter[tuple[str, str]] = Counter({(names[one], "completed"): 0 for one in ids})
    snapshots = EbsSnapshots(stack.aws_place()).of_volumes(ids)
    states.update((names[one.volume_id], one.state) for one in snapshots)
    for (name, state), count in sorted(states.items()):
        gauges.set("volume_snapshots", name, state, value=count)
    newest = {names[volume_id]: one.started for volume_id, one in newest_by_volume(snapshots).items()}
    for name, started in sorted(newest.items()):
        gauges.set("volume_newest_snapshot_timestamp_seconds", name, value=started.timestamp())


def _of_s3(gauges: Gauges, job: str, logs: Json) -> None:
    gauges.set("binlogs_expected", job, value=1)
    reached = copied_until(logs, stack.aws_place())
    if reached is not None:
        gauges.set("binlogs_until_timestamp_seconds", job, value=reached.timestamp())
