"""What the stack's own state says: its resources, its volumes, and the zones that these stay in."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

import pulumi

from nomad_stateful.components.component_type import component_type, earlier_type
from nomad_stateful.components.zonal_volumes import Grown
from nomad_stateful.ebs.tags import GUARD_TAG
from nomad_stateful.program.prefetch import CallError, Prefetch
from nomad_stateful.program.settings import Problem, SettingsError
from nomad_stateful.resource_types import (
    EBS_VOLUME,
    NOMAD_CSI_REGISTRATION,
    NOMAD_CSI_VOLUME,
    VOLUME_GROWTH,
    VOLUME_GUARD,
    VOLUME_PROTECTION,
)

_READ = "pulumi:pulumi:readStackResourceOutputs"
_ZONAL_VOLUMES = (component_type("ZonalVolumes"), earlier_type("ZonalVolumes"))
_CSI_VOLUMES = (component_type("CsiVolumes"), earlier_type("CsiVolumes"))
# Of 0.1.0, and of other programs: a component for each.
_CSI_VOLUME = (component_type("CsiVolume"), earlier_type("CsiVolume"))

Props = Mapping[str, Any]


def name() -> str:
    """Returns PROJECT/STACK, by which what the stack makes in AWS is tagged."""
    return f"{pulumi.get_project()}/{pulumi.get_stack()}"


def full_name() -> str:
    """Returns the stack's name, as it stands in its claims."""
    return f"{pulumi.get_organization()}/{name()}"


@cache
def resources(prefetch: Prefetch) -> dict[str, dict[str, Any]]:
    """Returns type and outputs by URN of what the last run left in the stack, read once. Raises SettingsError."""
    try:
        found: dict[str, dict[str, Any]] = prefetch.call(_READ, {"stackName": _stack_name()}).result()["outputs"]
    except CallError as error:
        rule = f"which volumes the stack has cannot be read: {error}"
        raise SettingsError([Problem("the stack's state", "not usable", rule, "fix the cause")]) from None
    return found


def volume_zones(prefetch: Prefetch) -> dict[str, str]:
    """Returns the zone of each volume in the state, by the volume's id. Raises SettingsError."""
    known = {urn: one for urn, one in resources(prefetch).items() if one.get("outputs")}
    made = {str(one["volumeId"]): zone_asked_for(one) for one in _of(known, NOMAD_CSI_VOLUME)}
    guarded = {str(one["volumeName"]): str(one.get("zone") or "") for one in _of(known, VOLUME_GUARD)}
    # Where a volume has both, its guard knows: it is made first, and remembers.
    return {key: zone for key, zone in [*made.items(), *guarded.items()] if zone}


def _stack_name() -> str:
    """Returns the stack's name as the backend knows it: one without organizations may know the plain name only."""
    return pulumi.get_stack() if pulumi.get_organization() == "organization" else full_name()


@dataclass(frozen=True)
class StoredVolume:
    """One volume, under the id that Nomad knows it by."""

    volume_id: str
    provision: Literal["pulumi", "plugin", "existing"]
    """Who made it."""
    external_id: str
    """Id at the storage provider."""
    size: str = ""
    """Size with its unit; "" where nobody recorded it."""
    zone: str = ""
    plugin: str = ""
    """Id of the plugin that it is registered with; "" where it is not."""
    provider: str = ""
    """The name that the driver reports."""
    namespace: str = ""
    protected: bool | None = None
    """Whether the engine refuses to delete it; None where an earlier release has not recorded it."""
    final_snapshot: bool = False
    """Whether a snapshot is taken before it is deleted."""
    retained: bool = False
    """Whether it stays at the storage provider when it leaves the stack."""

    def __str__(self) -> str:
        what = "EBS volume " if self.external_id.startswith("vol-") else ""
        known = ", ".join(part for part in (self.size, self.zone) if part)
        return f"{what}{self.external_id}" + (f" ({known})" if known else "")


def stored(resources: Mapping[str, Props]) -> dict[str, StoredVolume]:
    """Returns the volumes by id, from the type and outputs of each resource by its URN."""
    registered = {one["volumeId"]: one for one in _of(resources, NOMAD_CSI_REGISTRATION)}
    made = {one.volume_id: one for one in _made_by_pulumi(resources)}
    # A rename that was cut off: the volume has its name, and is registered under the earlier one still.
    own = {one.external_id for one in made.values()} | left(resources)
    found = {volume_id: _existing(one) for volume_id, one in registered.items() if one.get("externalId") not in own}
    protected = {one.get("volume_id"): one.get("protect") for one in _of(resources, *_CSI_VOLUME)}
    for component in _of(resources, *_CSI_VOLUMES):
        protected |= component.get("protected") or {}
    for one in _of(resources, NOMAD_CSI_VOLUME):
        found[one["volumeId"]] = _made_by_driver(one, protected.get(one["volumeId"]))
    return found | {name: _registered(one, registered.get(name, {})) for name, one in made.items()}


def left(resources: Mapping[str, Props]) -> set[str]:
    """Returns the EBS volumes that others took the place of, and that are in the state still: a move was cut off."""
    guards = {one.get("leftGuardId") for one in _of(resources, VOLUME_GUARD)} - {None, ""}
    return {_ebs_id(one) for one in _of(resources, EBS_VOLUME) if (one.get("tags") or {}).get(GUARD_TAG) in guards}


def own_ids(resources: Mapping[str, Props]) -> set[str]:
    """Returns the ids at the provider of the stack's volumes, also of those that it left where they were."""
    return {one.external_id for one in stored(resources).values()} | left(resources)


def _ebs_id(made: Props) -> str:
    return str(made["arn"].rpartition("/")[2])


def cut_off(resources: Mapping[str, Props]) -> dict[str, str]:
    """Returns the guards, by volume name, whose volume the state does not know: its creation was cut off."""
    made = {(one.get("tags") or {}).get(GUARD_TAG) for one in _of(resources, EBS_VOLUME)}
    return {one["volumeName"]: one["guardId"] for one in _of(resources, VOLUME_GUARD) if one["guardId"] not in made}


def grown(resources: Mapping[str, Props]) -> dict[str, Grown]:
    """Returns how far file systems have grown, by volume id: an earlier release kept it in a resource of its own."""
    return {
        one["volumeId"]: {"size_gib": int(one["sizeGib"]), "restart_id": one.get("restartId") or ""}
        for one in _of(resources, VOLUME_GROWTH)
    }


def _of(resources: Mapping[str, Props], *tokens: str) -> Iterator[Props]:
    return (one["outputs"] for one in resources.values() if one["type"] in tokens)


def _existing(registration: Props) -> StoredVolume:
    return StoredVolume(
        registration["volumeId"],
        "existing",
        registration.get("externalId", ""),
        zone=zone_asked_for(registration),
        plugin=registration.get("pluginId", ""),
        provider=registration.get("pluginProvider", ""),
        namespace=registration.get("namespace", ""),
        retained=registration.get("deregisterOnDestroy") is False,
    )


def _made_by_driver(volume: Props, protected: bool | None) -> StoredVolume:
    return StoredVolume(
        volume["volumeId"],
        "plugin",
        volume.get("externalId", ""),
        size=volume.get("capacityMin") or "",
        zone=zone_asked_for(volume),
        plugin=volume.get("pluginId", ""),
        provider=volume.get("pluginProvider", ""),
        namespace=volume.get("namespace", ""),
        protected=protected,
    )


def zone_asked_for(volume: Props) -> str:
    """Returns the zone that a volume in Nomad was asked for in; "" where it can be reached from everywhere."""
    required = (volume.get("topologyRequest") or {}).get("required") or {}
    segments = [value for one in required.get("topologies") or [] for value in (one.get("segments") or {}).values()]
    return str(segments[0]) if segments else ""


def _made_by_pulumi(resources: Mapping[str, Props]) -> Iterator[StoredVolume]:
    guards = {one.get("guardId"): one for one in _of(resources, VOLUME_GUARD)}
    protections = {one.get("volumeId"): one for one in _of(resources, VOLUME_PROTECTION)}
    retained: dict[str, bool] = {}
    for component in _of(resources, *_ZONAL_VOLUMES):
        retained |= component.get("retained") or {}
    for made in _of(resources, EBS_VOLUME):
        guard = guards.get((made.get("tags") or {}).get(GUARD_TAG))
        if guard is None:
            continue
        name, external_id = guard["volumeName"], _ebs_id(made)
        yield StoredVolume(
            name,
            "pulumi",
            external_id,
            size=f"{int(made['size'])} GiB",
            zone=made.get("availabilityZone", ""),
            protected=guard.get("protect", True),
            # What was not made yet takes none.
            final_snapshot=bool(protections.get(external_id, {}).get("finalSnapshot")),
            retained=retained.get(name, False),
        )


def _registered(volume: StoredVolume, registration: Props) -> StoredVolume:
    return replace(
        volume,
        plugin=registration.get("pluginId", ""),
        provider=registration.get("pluginProvider", ""),
        namespace=registration.get("namespace", ""),
    )
