"""Rules: a job runs in the zone of its volumes."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from nomad_stateful.nomad.fingerprint import ZONE_REFERENCE
from nomad_stateful.nomad.job_rendering import Job
from nomad_stateful.resource_types import EBS_VOLUME, NOMAD_CSI_REGISTRATION, NOMAD_CSI_VOLUME
from policy.nomad_job import csi_claims, groups, job_of, size
from policy.resource import Resource
from policy.rule import Config, StackRule, strings

DEFAULT_WEIGHT = 50
VOLUME_TYPES = frozenset({NOMAD_CSI_REGISTRATION, NOMAD_CSI_VOLUME})
Zones = frozenset[str]


def check_zones(resources: list[Resource], config: Config) -> Iterator[tuple[Resource, str]]:
    """Yields groups whose constraints, affinities or other volumes exclude the zone of a volume they claim."""
    known = _zones_by_volume(resources)
    for resource in resources:
        job = job_of(resource)
        for group in groups(job) if job else ():
            zones = _claimed(job or {}, group, known)
            for problem in _problems(job or {}, group, zones, config["zoneAttributes"]):
                yield resource, f'group "{group["Name"]}" {problem}'


def _zones_by_volume(resources: list[Resource]) -> dict[tuple[str, str], Zones]:
    """Returns the zones that a volume can be reached from, if known, by namespace and id."""
    by_urn = {resource.urn: resource for resource in resources}
    found: dict[tuple[str, str], Zones] = {}
    for resource in resources:
        if resource.type in VOLUME_TYPES:
            zones = _topology_zones(resource.props) or _storage_zones(resource, by_urn)
            if zones:
                key = (str(resource.props.get("namespace") or "default"), str(resource.props.get("volumeId")))
                found[key] = zones
    return found


def _topology_zones(props: Mapping[str, Any]) -> Zones:
    request = _mapping(_mapping(props.get("topologyRequest")).get("required")).get("topologies")
    segments = (
        [_mapping(_mapping(topology).get("segments")) for topology in (request or [])] if _is_list(request) else []
    )
    # The driver's key: topology.ebs.csi.aws.com/zone and the like.
    return frozenset(
        zone for found in segments for key, zone in found.items() if isinstance(zone, str) and key.endswith("/zone")
    )


def _storage_zones(registration: Resource, by_urn: Mapping[str, Resource]) -> Zones:
    """Returns the zone of the registered EBS volume, which is known before the driver's topology key."""
    sources = [by_urn.get(urn) for urn in registration.sources.get("externalId", ())]
    zones = [source.props.get("availabilityZone") for source in sources if source and source.type == EBS_VOLUME]
    return frozenset(zone for zone in zones if isinstance(zone, str))


def _claimed(job: Job, group: Mapping[str, Any], known: Mapping[tuple[str, str], Zones]) -> dict[str, Zones]:
    """Returns the zones of the volumes that a group claims, by volume, if known."""
    namespace = str(job.get("Namespace") or "default")
    found: dict[str, Zones] = {}
    for claim in csi_claims(group):
        source, count = str(claim["Source"]), size(job, group) or 0
        names = [f"{source}[{index}]" for index in range(count)] if claim.get("PerAlloc") else [source]
        found |= {name: known[namespace, name] for name in names if (namespace, name) in known}
    return found


def _problems(job: Job, group: Mapping[str, Any], claimed: Mapping[str, Zones], attributes: list[str]) -> Iterator[str]:
    constraints = [item for item in _placed(job, group, "Constraints") if item.get("LTarget") in attributes]
    affinities = [item for item in _placed(job, group, "Affinities") if item.get("LTarget") in attributes]
    for volume, zones in claimed.items():
        where = f"{volume} is in {_listed(zones)}"
        if not any(all(_matches(item, zone) for item in constraints) for zone in zones):
            yield f"has the constraint {' and '.join(map(_shown, constraints))}, but {where}"
        for affinity in affinities:
            weight = int(DEFAULT_WEIGHT if affinity.get("Weight") is None else affinity["Weight"])
            matching = [_matches(affinity, zone) for zone in zones]
            if (weight > 0 and not any(matching)) or (weight < 0 and all(matching)):
                yield f"has the affinity {_shown(affinity)} with weight {weight}, but {where}"
    shared = [volume for volume in claimed if not volume.endswith("]")]
    if shared and not frozenset.intersection(*(claimed[volume] for volume in shared)):
        yield "claims volumes without a common zone: " + ", ".join(
            f"{name} in {_listed(claimed[name])}" for name in shared
        )


def _placed(job: Job, group: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    levels = [job, group, *(group.get("Tasks") or ())]
    return [item for level in levels for item in level.get(key) or ()]


def _matches(item: Mapping[str, Any], zone: str) -> bool:
    """Returns whether a client of the zone matches; any does with an operator that does not compare text."""
    operator, value = str(item.get("Operand") or "="), str(item.get("RTarget") or "")
    if operator in ("=", "==", "is"):
        return zone == value
    if operator in ("!=", "not"):
        return zone != value
    if operator in ("set_contains", "set_contains_all", "set_contains_any"):
        wanted = {part.strip() for part in value.split(",")}
        return zone in wanted if operator == "set_contains_any" else wanted == {zone}
    if operator == "regexp":
        try:
            return re.search(value, zone) is not None
        except re.error:  # Nomad's expressions are Go's
            return True
    return True


def _shown(item: Mapping[str, Any]) -> str:
    return f"{item.get('LTarget')} {item.get('Operand') or '='} {item.get('RTarget')}"


def _listed(zones: Zones) -> str:
    return " or ".join(sorted(zones))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


RULES = [
    StackRule(
        name="consumer-zone",
        sentence="A job can run in the zone of all its volumes.",
        remedy="remove the constraint or affinity (Nomad places a job by the topology of its volumes), or create the "
        "volume in the job's zone.",
        settings={"zoneAttributes": strings("Attributes by which a constraint names a zone.", [ZONE_REFERENCE])},
        check=check_zones,
    )
]
