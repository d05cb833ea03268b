"""Why a volume is not to be had: its registration, claims, attachment, plugin and zone."""

from collections.abc import Iterator

from nomad_stateful.nomad import controllers
from nomad_stateful.nomad.clients import Client
from nomad_stateful.nomad.running_job import LIVE
from nomad_stateful.operate.explain.reason import RUNBOOK, Reason, Scene, zones_of
from nomad_stateful.recovery.plan import recovery_plans

_HELD = f"{RUNBOOK}#what-holds-a-volume"
_UNHEALTHY = "docs/decisions/2026-11-22-unhealthy-controllers.md"
_EC2_AWAY = {
    "not-found": "EC2 has no such volume any more",
    "error": "EC2 has given the volume up",
    "deleting": "EC2 deletes it",
}


def not_registered(scene: Scene, volume_id: str) -> Reason:
    """Returns the reason that a volume is not in the namespace."""
    elsewhere = [str(stub["Namespace"]) for stub in scene.facts.registered() if stub["ID"] == volume_id]
    where = f" (it is in namespace {', '.join(elsewhere)})" if elsewhere else ""
    what = f"volume {volume_id} is not registered in namespace {scene.namespace}{where}"
    why = "Nomad places a job only where its volumes are registered, in the job's own namespace"
    return Reason(what, why, "pulumi up --refresh", _HELD)


def in_use(scene: Scene, volume_id: str) -> Iterator[Reason]:
    """Yields who has a volume that a job waits for: what is stuck first, else what uses it rightly."""
    stuck = list(stuck_reasons(scene, volume_id))
    yield from stuck or holders(scene, volume_id)


def holders(scene: Scene, volume_id: str) -> Iterator[Reason]:
    """Yields the allocations that use a volume, each of which the next one waits for."""
    volume = scene.volume(volume_id)
    for claim in scene.usage(volume).claims if volume else ():
        if claim.status in LIVE:
            stopping = claim.desired == "stop"
            why = "it is being stopped: the volume is free once its tasks have ended (kill_timeout) and it is unmounted"
            if not stopping:
                why = "a volume of one writer is one allocation's at a time; the next one waits until it ends"
            next_ = (
                f"nomad alloc status{scene.scope} {claim.alloc_id[:8]}"
                if stopping
                else f"nomad job stop{scene.scope} {claim.job_id}, if that job may end"
            )
            yield Reason(f"volume {volume_id} is in use: {claim}", why, next_, _HELD)
        else:
            why = (
                "its claim is released once the volume is unmounted there, within 5 minutes; then the next one gets it"
            )
            command = f"nomad volume status{scene.scope} {volume_id}"
            yield Reason(f"volume {volume_id} is claimed still: {claim}", why, command, _HELD)


def stuck_reasons(scene: Scene, volume_id: str) -> Iterator[Reason]:
    """Yields what is wrong with a volume, whether or not anything waits for it."""
    volume = scene.volume(volume_id)
    if volume is None:
        yield not_registered(scene, volume_id)
        return
    usage = scene.usage(volume)
    state = usage.attached.state if usage.attached else ""
    if state in _EC2_AWAY:
        why = "nothing can mount it; its data is in its snapshots only"
        yield Reason(
            f"volume {volume_id}: {_EC2_AWAY[state]} ({usage.external_id})",
            why,
            "nomad-stateful snapshots",
            "docs/volumes.md",
        )
    for plan in recovery_plans(usage, wanted_free=False):
        next_ = f"nomad-stateful recover (next: {plan.steps[0]})"
        yield Reason(
            f"volume {volume_id}: {plan.problem}", "until it is released nothing else can mount it", next_, _HELD
        )
    plugin_id = str(volume.get("PluginID") or "")
    plugin = scene.facts.plugin(plugin_id)
    if plugin is None:
        why = "no node plugin can mount the volume, and no controller attach it"
        yield Reason(
            f"Nomad knows no CSI plugin {plugin_id}, which volume {volume_id} is of",
            why,
            "pulumi up --refresh",
            RUNBOOK,
        )
        return
    for line in controllers.lacks(plugin_id, plugin):
        why = "while one is unhealthy Nomad may grant a claim without attaching, and release one without detaching"
        next_ = f"wait a minute; where it stays so, `nomad alloc restart{scene.scope}` it, then `pulumi up`"
        yield Reason(line, why, next_, _UNHEALTHY)
    yield from _unreachable(scene, volume_id, plugin_id)


def _unreachable(scene: Scene, volume_id: str, plugin_id: str) -> Iterator[Reason]:
    """Yields that no client of the volume's zones could take it."""
    zones = zones_of(scene.volume(volume_id) or {})
    inside = scene.clients_of(zones)
    if not zones or any(one.takes_work and one.has_healthy_plugin(plugin_id) for one in inside):
        return
    told = "; ".join(f"{one.name} is {_why_not(one, plugin_id)}" for one in inside) or "there is none"
    what = f"no client in {', '.join(zones)} can mount volume {volume_id}: {told}"
    why = "an EBS volume is attached in its own zone only"
    next_ = f"nomad node status; nomad plugin status -verbose {plugin_id}; nomad-stateful doctor"
    yield Reason(what, why, next_, "docs/volumes.md")


def _why_not(client: Client, plugin_id: str) -> str:
    return f"ready, without a healthy node plugin {plugin_id}" if client.takes_work else client.state
