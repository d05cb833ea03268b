"""Registrations that are adopted: each has to be what the settings would make of it, or it would be changed."""

import json
from collections.abc import Iterator

from nomad_stateful.nomad.registration import Registration
from nomad_stateful.program.settings import Plugin, Problem, Volume
from nomad_stateful.program.settings.volume import Member

_HIDDEN = "Nomad does not say which"


def differences(volume: Volume, member: Member, plugin: Plugin, found: Registration) -> Iterator[Problem]:
    """Yields what the settings would change of a registration, by key, value, rule and remedy.

    `member` has the storage that is adopted as its external id.
    """
    key = f"volumes.{volume.name}"
    # One that Pulumi made has it since Nomad expanded it, and is registered again as it is.
    if found.capacity and volume.provision == "existing":
        rule = f"its driver made it, through Nomad ({found.capacity} bytes), and Nomad refuses to register such a one"
        remedy = "leave this volume out; to have it here, deregister it while nothing uses it"
        yield Problem(f"{key}.provision", "existing", rule, remedy)
    capabilities = ", ".join(f"{access} with {attachment}" for access, attachment in found.capabilities)
    if found.capabilities != ((volume.access_mode, volume.attachment_mode),):
        value = f"{volume.access_mode} with {volume.attachment_mode}"
        remedy = "set accessMode and attachmentMode to these"
        if len(found.capabilities) > 1:
            remedy = "the settings have one: leave this volume out, or register it with one"
        yield Problem(f"{key}.accessMode", value, f"it is registered as {capabilities or 'nothing'}", remedy)
    compared = [
        ("registered.name", volume.registered.name or member.volume_id, found.name),
        ("plugin", plugin.id, found.plugin_id),
        ("externalId", member.external_id, found.external_id),
        ("parameters", _shown(volume.parameters), _shown(found.parameters)),
        ("context", _shown(volume.context), _shown(found.context)),
        ("zone", *_places(volume, member.zone, plugin, found)),
    ]
    if volume.attachment_mode == "file-system":
        compared.append(("fsType", volume.fs_type, found.fs_type))
    for name, value, has in compared:
        if value != has:
            remedy = "set it so"
            if name == "zone":
                remedy += ", and registered.topologyKey to its key (empty for a registration without topology)"
            yield Problem(f"{key}.{name}", value or "not set", f"it is registered with {has or 'none'}", remedy)
    if bool(volume.mount_flags) != found.has_mount_flags:
        rule = f"it is registered with {f'mount flags ({_HIDDEN})' if found.has_mount_flags else 'no mount flags'}"
        yield Problem(f"{key}.mountFlags", ", ".join(volume.mount_flags) or "not set", rule, "set them so")


def _shown(values: object) -> str:
    return json.dumps(values, sort_keys=True) if values else ""


def _places(volume: Volume, zone: str, plugin: Plugin, found: Registration) -> tuple[str, str]:
    """Returns what the volume would be reachable from, and what it is; a key that the nodes decide is either's."""
    has = "; ".join(",".join(f"{key}={value}" for key, value in segments) for segments in found.topologies)
    key = volume.registered.topology_key
    if key is None and len(found.topologies) == 1 and len(found.topologies[0]) == 1:
        given = found.topologies[0][0][0]
        key = given if given in plugin.known.topology_keys else None
    if key is None:
        key = next(iter(plugin.known.topology_keys), "")
    return (f"{key}={zone}" if key and zone else ""), has
