"""Zones: a volume is used in its own."""

from collections.abc import Iterator

from operate.doctor.facts import Facts, Json, zone_of
from operate.doctor.finding import Finding, problem, warning

_PAGE = "docs/volumes.md"


def have_clients(facts: Facts) -> Iterator[Finding]:
    """Each volume's zone has clients that can run its consumer."""
    for zone, names in sorted(_volumes_by_zone(facts).items()):
        inside = [node for node in facts.nodes() if zone_of(node) == zone]
        usable = [node for node in inside if _is_usable(node)]
        volumes = f"volume{'s' if len(names) > 1 else ''} {', '.join(sorted(names))} in {zone}"
        if not usable:
            away = "; ".join(f"{node['Name']} is {_state(node)}" for node in inside) or "there is none"
            why = "EBS attaches a volume in its own zone only: its consumer stays pending"
            cure = f"start a client in {zone}, or `nomad node eligibility -enable NODE` where one is ineligible"
            yield problem(f"no usable client for {volumes}: {away}", why, cure, _PAGE)
        elif len(usable) == 1:
            why = "when that client is lost or drained, the consumer has nowhere to go"
            cure = f"start a second client in {zone}, if the volume's consumer has to survive the first"
            yield warning(f"only client {usable[0]['Name']} for {volumes}", why, cure, _PAGE)


def _volumes_by_zone(facts: Facts) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for volume in facts.volumes():
        for zone in [volume.get("zone"), *(volume.get("zones") or [])]:
            if zone:
                found.setdefault(str(zone), set()).add(str(volume.get("name")))
    return found


def _is_usable(node: Json) -> bool:
    return bool(node["Status"] == "ready" and node["SchedulingEligibility"] == "eligible")


def _state(node: Json) -> str:
    draining = "draining" if node.get("DrainStrategy") else node["SchedulingEligibility"]
    return str(node["Status"] if node["Status"] != "ready" else draining)
