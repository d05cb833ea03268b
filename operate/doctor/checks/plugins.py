"""The CSI plugins: healthy controllers, and a healthy node plugin in every zone with a volume."""

from collections.abc import Iterator

from nomad_stateful.nomad import controllers, csi_diagnosis
from nomad_stateful.nomad.csi_health import assess
from operate.doctor.facts import Facts, Json, NotChecked, driver_of, zone_of
from operate.doctor.finding import Finding, problem

_PAGE = "docs/runbook.md"


def healthy(facts: Facts) -> Iterator[Finding]:
    """Each plugin's controllers are healthy, and a node plugin in every zone that has a volume of it."""
    if not facts.sources.resources:
        raise NotChecked("the stack has not been deployed yet")
    zones = {str(node["ID"]): zone_of(node) for node in facts.nodes()}
    for number, plugin in enumerate(facts.plugins()):
        driver, plugin_id = driver_of(plugin), str(plugin["id"])
        known = facts.plugin(plugin_id)
        health = assess(known, driver.topology_keys, lambda node_id: zones.get(node_id, ""))
        wanted = int(plugin.get("controllers") or driver.controllers)
        missing = health.missing(wanted, _zones(facts, plugin_id, is_first=number == 0) if driver.zonal else [])
        if missing:
            lines = csi_diagnosis.diagnose(facts.nomad(), plugin_id, known)
            what = f"plugin {plugin_id}: {'; '.join(missing)} ({'; '.join(lines)})"
            why = "Nomad neither attaches, mounts nor detaches volumes there; consumers stay pending"
            yield problem(
                what, why, f"`nomad plugin status -verbose {plugin_id}`; fix the cause, then `pulumi up`", _PAGE
            )
        for line in controllers.lacks(plugin_id, known or {}):
            why = "Nomad then grants claims without attaching, and releases them without detaching"
            page = "docs/decisions/2026-11-22-unhealthy-controllers.md"
            if not missing:
                yield problem(line, why, "wait a minute; where it stays, `nomad alloc restart` it", page)


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
