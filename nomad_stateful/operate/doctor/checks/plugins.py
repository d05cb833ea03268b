"""The CSI plugins: healthy controllers, and a healthy node plugin in every zone with a volume."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from nomad_stateful.nomad import controllers, csi_diagnosis
from nomad_stateful.nomad.csi_health import assess
from nomad_stateful.nomad.csi_starts import Start, controllers_of, nodes_of, starts, words
from nomad_stateful.operate.doctor.facts import Facts, Json, NotChecked, driver_of
from nomad_stateful.operate.doctor.finding import Finding, problem, warning

_PAGE = "docs/runbook.md"
_UNHEALTHY = "docs/decisions/2026-11-22-unhealthy-controllers.md"
_SKIPS = "Nomad then grants claims without attaching, and releases them without detaching"


def healthy(facts: Facts) -> Iterator[Finding]:
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
                what, why, f"`nomad plugin status -verbose {plugin_id}`; fix the cause, then `pulumi up`", _PAGE
            )
            continue
        for line in controllers.lacks(plugin_id, _without(known or {}, found)):
            yield problem(line, _SKIPS, "wait a minute; where it stays, `nomad alloc restart` it", _UNHEALTHY)


def _starting(plugin_id: str, start: Start) -> Finding:
    what = f"plugin {plugin_id}: {words(start)}"
    if start in controllers_of([start]):
        return warning(what, _SKIPS, "wait until it is healthy before jobs are changed or clients drained", _UNHEALTHY)
    return warning(what, "consumers on this client stay pending meanwhile", "wait until it is healthy", _PAGE)


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
