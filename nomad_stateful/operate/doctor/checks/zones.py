"""Zones: a volume is used in its own."""

from collections.abc import Iterator

from nomad_stateful.operate.doctor.facts import Facts
from nomad_stateful.operate.doctor.finding import Finding, problem, warning

_PAGE = "docs/volumes.md"


def have_clients(facts: Facts) -> Iterator[Finding]:
    """Each volume's zone has clients that can run its consumer."""
    for zone, names in sorted(_volumes_by_zone(facts).items()):
        inside = [client for client in facts.clients() if client.zone == zone]
        usable = [client for client in inside if client.takes_work]
        volumes = f"volume{'s' if len(names) > 1 else ''} {', '.join(sorted(names))} in {zone}"
        if not usable:
            away = "; ".join(f"{client.name} is {client.state}" for client in inside) or "there is none"
            why = "EBS attaches a volume in its own zone only: its consumer stays pending"
            cure = f"start a client in {zone}, or `nomad node eligibility -enable NODE` where one is ineligible"
            yield problem(f"no usable client for {volumes}: {away}", why, cure, _PAGE)
        elif len(usable) == 1:
            why = "when that client is lost or drained, the consumer has nowhere to go"
            cure = f"start a second client in {zone}, if the volume's consumer has to survive the first"
            yield warning(f"only client {usable[0].name} for {volumes}", why, cure, _PAGE)


def _volumes_by_zone(facts: Facts) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for volume in facts.volumes():
        for zone in [volume.get("zone"), *(volume.get("zones") or [])]:
            if zone:
                found.setdefault(str(zone), set()).add(str(volume.get("name")))
    return found
