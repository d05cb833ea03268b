"""The stack's volumes, plugins and jobs: healthy, registered, not stopped, and held by nothing else."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from nomad_stateful.ebs.tags import GIVEN_UP_TAG
from nomad_stateful.nomad import controllers, csi_diagnosis
from nomad_stateful.nomad.commands import scope
from nomad_stateful.nomad.csi_health import assess
from nomad_stateful.nomad.csi_starts import Start, controllers_of, nodes_of, starts, words
from nomad_stateful.nomad.paths import job_path
from nomad_stateful.operate import stack
from nomad_stateful.operate.doctor.facts import Facts, Json, NotChecked, driver_of
from nomad_stateful.operate.doctor.finding import Finding, problem, warning
from nomad_stateful.recovery.plan import recovery_plans
from nomad_stateful.recovery.volume_usage import VolumeUsage

_PAGE = "docs/runbook.md#what-holds-a-volume"
_LOST = "docs/disaster-recovery.md#a-zone-is-lost"
_ZONES = "docs/volumes.md"
_RUNBOOK = "docs/runbook.md"
_UNHEALTHY = "docs/decisions/2026-11-22-unhealthy-controllers.md"
_SKIPS = "Nomad then grants claims without attaching, and releases them without detaching"


def registered(facts: Facts) -> Iterator[Finding]:
    """Every volume of the stack is registered, under the id that the stack has of it."""
    for made in _made(facts):
        namespace = str(made.get("namespace") or "default")
        stubs = facts.registered(namespace)
        known = next((stub for stub in stubs if stub["ID"] == made["volumeId"]), None)
        if known is None:
            what = f"volume {made['volumeId']} is not registered in namespace {namespace}"
            why = "its consumers stay pending: missing CSI Volume"
            yield problem(what, why, "pulumi up --refresh", _PAGE)
        elif known["ExternalID"] != made["externalId"]:
            what = f"volume {made['volumeId']} is {known['ExternalID']} in Nomad, the stack's is {made['externalId']}"
            why = "its consumers get another volume than the stack's"
            yield problem(what, why, "check NOMAD_ADDR and --stack; then pulumi up --refresh", _PAGE)


def held(facts: Facts) -> Iterator[Finding]:
    """No volume is held by a claim or an attachment that should not be there."""
    for made in _made(facts):
        volume_id = str(made["volumeId"])
        usage = facts.usage(str(made.get("namespace") or "default"), volume_id, str(made["externalId"]))
        for plan in recovery_plans(usage, wanted_free=False):
            why = "until it is released, no other client can mount the volume"
            cure = f"`nomad-stateful recover` shows every step; next: {plan.steps[0]}"
            yield problem(f"volume {volume_id}: {plan.problem}", why, cure, _PAGE)
        yield from _given_up(volume_id, usage)


def _given_up(volume_id: str, usage: VolumeUsage) -> Iterator[Finding]:
    there = [str(client) for client in usage.clients.values() if client.is_up]
    if there and usage.attached and usage.attached.given_up:
        what = (
            f"volume {volume_id} ({usage.external_id}) was abandoned with its zone, and {', '.join(there)}, which has "
            "it, answers"
        )
        why = (
            "where it moves to another zone, nothing may ask whether it is attached: what is written then stays behind"
        )
        cure = f"aws ec2 delete-tags --resources {usage.external_id} --tags Key={GIVEN_UP_TAG}"
        yield warning(what, why, cure, _LOST)


def _made(facts: Facts) -> list[Json]:
    made = facts.made(*stack.REGISTRATIONS)
    if not made:
        raise NotChecked("the stack has registered no volume yet")
    return made


def zones_have_clients(facts: Facts) -> Iterator[Finding]:
    """Each volume's zone has clients that can run its consumer."""
    for zone, names in sorted(_volumes_by_zone(facts).items()):
        inside = [client for client in facts.clients() if client.zone == zone]
        usable = [client for client in inside if client.takes_work]
        volumes = f"volume{'s' if len(names) > 1 else ''} {', '.join(sorted(names))} in {zone}"
        if not usable:
            away = "; ".join(f"{client.name} is {client.state}" for client in inside) or "there is none"
            why = "EBS attaches a volume in its own zone only: its consumer stays pending"
            cure = f"start a client in {zone}, or `nomad node eligibility -enable NODE` where one is ineligible"
            yield problem(f"no usable client for {volumes}: {away}", why, cure, _ZONES)
        elif len(usable) == 1:
            why = "when that client is lost or drained, the consumer has nowhere to go"
            cure = f"start a second client in {zone}, if the volume's consumer has to survive the first"
            yield warning(f"only client {usable[0].name} for {volumes}", why, cure, _ZONES)


def _volumes_by_zone(facts: Facts) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for volume in facts.volumes():
        for zone in [volume.get("zone"), *(volume.get("zones") or [])]:
            if zone:
                found.setdefault(str(zone), set()).add(str(volume.get("name")))
    return found


def jobs_deployed(facts: Facts) -> Iterator[Finding]:
    """Every job that the stack has deployed is in Nomad, and nobody has stopped it."""
    if not facts.jobs():
        raise NotChecked("the stack has deployed no job yet")
    for job_id, namespace in facts.jobs():
        job = facts.find(job_path(job_id), namespace)
        if job is None or job.get("Stop"):
            what = f"job {job_id} is {'not in Nomad' if job is None else 'stopped'} (namespace {namespace})"
            why = "nothing starts it automatically; without a plugin's job no volume is attached or mounted"
            yield problem(what, why, "pulumi up --refresh", _RUNBOOK)


def plugins_healthy(facts: Facts) -> Iterator[Finding]:
    """Each plugin's controllers are healthy, and a node plugin in every zone that has a volume of it."""
    if not facts.sources.resources:
        raise NotChecked("the stack has not been deployed yet")
    zones = {client.id: client.zone for client in facts.clients()}
    for number, plugin in enumerate(facts.plugins()):
        driver, plugin_id = driver_of(plugin), str(plugin["id"])
        known = facts.plugin(plugin_id)
        health = assess(known, driver.topology_keys, lambda node_id: zones.get(node_id, ""))
        wanted = int(plugin.get("controllers") or driver.controllers)
        needed = _zones(facts, plugin_id, is_first=number == 0) if driver.zonal else []
        unhealthy = list(controllers.lacks(plugin_id, known or {}))
        if not unhealthy and not health.missing(wanted, needed):
            continue
        found = starts(facts.nomad(), plugin_id, known)
        yield from (_starting(plugin_id, one) for one in found)
        coming = Counter(zones.get(one.node_id, "") for one in nodes_of(found))
        soon = replace(
            health,
            controllers=health.controllers + len(controllers_of(found)),
            nodes=health.nodes + coming.total(),
            zones=coming + Counter(health.zones),
        )
        missing = soon.missing(wanted, needed)
        if missing:
            lines = csi_diagnosis.diagnose(facts.nomad(), plugin_id, known)
            what = f"plugin {plugin_id}: {'; '.join(missing)} ({'; '.join(lines)})"
            why = "Nomad neither attaches, mounts nor detaches volumes there; consumers stay pending"
            yield problem(
                what, why, f"`nomad plugin status -verbose {plugin_id}`; fix the cause, then `pulumi up`", _RUNBOOK
            )
            continue
        for line in controllers.lacks(plugin_id, _without(known or {}, found)):
            cure = f"wait a minute; where it stays, `nomad alloc restart{scope(facts.namespace())}` it"
            yield problem(line, _SKIPS, cure, _UNHEALTHY)


def _starting(plugin_id: str, start: Start) -> Finding:
    what = f"plugin {plugin_id}: {words(start)}"
    if start in controllers_of([start]):
        return warning(what, _SKIPS, "wait until it is healthy before jobs are changed or clients drained", _UNHEALTHY)
    return warning(what, "consumers on this client stay pending meanwhile", "wait until it is healthy", _RUNBOOK)


def _without(plugin: Json, starting: list[Start]) -> Json:
    """Returns the plugin's body without controllers that are starting."""
    if not controllers_of(starting):
        return plugin
    ids = {one.alloc_id for one in starting}
    known = plugin.get("Controllers") or {}
    left = {key: one for key, one in known.items() if one.get("AllocID") not in ids}
    return {**plugin, "Controllers": left, "ControllerRequired": bool(left) and plugin.get("ControllerRequired")}


def _zones(facts: Facts, plugin_id: str, *, is_first: bool) -> list[str]:
    """Returns the zones of a plugin's volumes; a volume that names none is the first one's."""

    def is_its(volume: Json) -> bool:
        return bool(volume.get("plugin") == plugin_id or (is_first and not volume.get("plugin")))

    found = [
        zone
        for volume in facts.volumes()
        if is_its(volume)
        for zone in [volume.get("zone"), *(volume.get("zones") or [])]
    ]
    return sorted({str(zone) for zone in found if zone})
