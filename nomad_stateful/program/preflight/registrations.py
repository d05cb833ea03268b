"""Registrations that are adopted: each has to be what the plan would make of it, or it would be changed."""

import json
from collections.abc import Iterator

from nomad_stateful.nomad.registration import Registration
from nomad_stateful.program.plan.later import Later
from nomad_stateful.program.plan.model import Volume
from nomad_stateful.program.settings import Problem

_HIDDEN = "Nomad does not say which"


def differences(volume: Volume, external_id: str, found: Registration) -> Iterator[Problem]:
    """Yields what the plan would change of a registration, by key, value, rule and remedy.

    `external_id` is that of the storage that is adopted.
    """
    key, planned = volume.key, volume.registration
    access, attachment, flags = planned["access_mode"], planned["attachment_mode"], planned["mount_flags"]
    # One that Pulumi made has it since Nomad expanded it, and is registered again as it is.
    if found.capacity and volume.provision == "existing":
        rule = f"its driver made it, through Nomad ({found.capacity} bytes), and Nomad refuses to register such a one"
        remedy = "leave this volume out; to have it here, deregister it while nothing uses it"
        yield Problem(f"{key}.provision", "existing", rule, remedy)
    capabilities = ", ".join(" with ".join(one) for one in found.capabilities)
    if found.capabilities != ((access, attachment),):
        value = f"{access} with {attachment}"
        remedy = "set accessMode and attachmentMode to these"
        if len(found.capabilities) > 1:
            remedy = "the settings have one: leave this volume out, or register it with one"
        yield Problem(f"{key}.accessMode", value, f"it is registered as {capabilities or 'nothing'}", remedy)
    compared = [
        ("registered.name", planned["registered_name"] or volume.id, found.name),
        ("plugin", volume.plugin, found.plugin_id),
        ("externalId", external_id, found.external_id),
        ("parameters", _shown(planned["parameters"]), _shown(found.parameters)),
        ("context", _shown(planned["context"]), _shown(found.context)),
        ("zone", *_places(volume, found)),
    ]
    if attachment == "file-system":
        compared.append(("fsType", planned["fs_type"], found.fs_type))
    for name, value, has in compared:
        if value != has:
            remedy = "set it so"
            if name == "zone":
                remedy += ", and registered.topologyKey to its key (empty for a registration without topology)"
            yield Problem(f"{key}.{name}", value or "not set", f"it is registered with {has or 'none'}", remedy)
    if bool(flags) != found.has_mount_flags:
        rule = f"it is registered with {f'mount flags ({_HIDDEN})' if found.has_mount_flags else 'no mount flags'}"
        yield Problem(f"{key}.mountFlags", ", ".join(flags) or "not set", rule, "set them so")


def _shown(values: object) -> str:
    return json.dumps(values, sort_keys=True) if values else ""


def _places(volume: Volume, found: Registration) -> tuple[str, str]:
    """Returns what the volume would be reachable from, and what it is; a key that the nodes decide is either's."""
    has = "; ".join(",".join(f"{key}={value}" for key, value in segments) for segments in found.topologies)
    given, zone = volume.registration["topology_key"], volume.zone
    key = None if isinstance(given, Later) else given
    if key is None and len(found.topologies) == 1 and len(found.topologies[0]) == 1:
        has_key = found.topologies[0][0][0]
        key = has_key if has_key in volume.topology_keys else None
    if key is None:
        key = next(iter(volume.topology_keys), "")
    return (f"{key}={zone}" if key and zone else ""), has
