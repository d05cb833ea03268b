"""From what runs to the settings under which the first preview changes none of it, and what has no setting."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nomad_stateful.drivers.model import CsiDriver
from nomad_stateful.operate.adopt.found import Found, FoundPlugin, FoundVolume

_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")


@dataclass(frozen=True)
class Gap:
    """Something that no setting expresses."""

    subject: str
    key: str
    value: str
    why: str
    remedy: str
    leaves_out: bool = True
    """Whether its volume is left out of the settings; else it is only told."""

    def __str__(self) -> str:
        return f"{self.subject}: {self.key} is {self.value}: {self.why}. {self.remedy[:1].upper()}{self.remedy[1:]}"


@dataclass(frozen=True)
class Adoption:
    """Settings, by their keys in the configuration, and what is not among them."""

    settings: dict[str, Any]
    gaps: list[Gap]
    untouched: list[str] = field(default_factory=list)
    """Jobs that go on as they are, and are not the stack's."""

    @property
    def names(self) -> list[str]:
        """Ids of the volumes that become the stack's, or whose registrations do."""
        return [one["name"] for one in self.settings["volumes"]]


def adoption(found: Found, namespace: str, mount_flags: Mapping[str, Sequence[str]]) -> Adoption:
    """Returns the settings for a namespace; `mount_flags` are those that Nomad hides, by volume id."""
    volumes, gaps = [], []
    for volume in found.volumes:
        plugin = found.plugins.get(volume.registration.plugin_id)
        flags = mount_flags.get(volume.volume_id)
        missing = list(_gaps(volume, plugin, namespace, flags))
        gaps += missing
        if plugin and plugin.driver and not any(one.leaves_out for one in missing):
            volumes.append(_volume(volume, plugin, plugin.driver, flags or ()))
    used = {str(one["plugin"]) for one in volumes}
    plugins = [found.plugins[plugin_id] for plugin_id in sorted(used)]
    settings: dict[str, Any] = {}
    if len(found.roles) == 1:
        settings["clientRole"] = found.roles[0]
    else:
        roles = ", ".join(found.roles) or "none"
        why = "the clients' instances have to have one role"
        gaps.append(Gap("clients", "clientRole", roles, why, "set clientRole to the role of the Nomad clients", False))
    settings["placement"] = {"namespace": namespace}
    settings["plugins"] = [_plugin(plugin) for plugin in plugins]
    settings["volumes"] = volumes
    settings["adopt"] = [one["name"] for one in volumes]
    return Adoption(settings, gaps, _untouched(found, plugins, settings["adopt"]))


def _plugin(plugin: FoundPlugin) -> dict[str, Any]:
    assert plugin.driver is not None  # noqa: S101 - of others no volume is in the settings
    settings: dict[str, Any] = {"id": plugin.plugin_id, "driver": plugin.driver.name, "existing": True}
    if "controller" in plugin.driver.roles:
        settings["controllers"] = max(plugin.controllers, 1)
    return settings


def _volume(volume: FoundVolume, plugin: FoundPlugin, driver: CsiDriver, flags: Sequence[str]) -> dict[str, Any]:
    known = volume.registration
    ((access_mode, attachment_mode),) = known.capabilities
    settings: dict[str, Any] = {
        "name": volume.volume_id,
        "plugin": plugin.plugin_id,
        "provision": "existing",
        "externalId": known.external_id,
    }
    if driver.zonal:
        settings["zone"] = _zone(volume)
    settings |= {"accessMode": access_mode, "attachmentMode": attachment_mode}
    if attachment_mode == "file-system":
        settings["fsType"] = known.fs_type
    settings["retain"] = True
    for key, value in (("mountFlags", list(flags)), ("parameters", known.parameters), ("context", known.context)):
        if value:
            settings[key] = value
    registered = {}
    if known.name != volume.volume_id:
        registered["name"] = known.name
    if driver.zonal and (key := _topology_key(volume)) != plugin.health.topology_key:
        registered["topologyKey"] = key
    return settings | ({"registered": registered} if registered else {})


def _gaps(
    volume: FoundVolume, plugin: FoundPlugin | None, namespace: str, flags: Sequence[str] | None
) -> Iterator[Gap]:
    """Yields what of a volume has no setting, or would be changed by one."""
    subject, known = f"volume {volume.volume_id}", volume.registration

    def gap(key: str, value: str, why: str, remedy: str = "it stays as it is, outside the stack") -> Gap:
        return Gap(subject, key, value, why, remedy)

    if volume.stack:
        yield gap("claim", volume.stack, "it belongs to that stack")
    if volume.namespace != namespace:
        yield gap(
            "namespace", volume.namespace, "a stack has one", f"adopt it by a stack with --namespace {volume.namespace}"
        )
    if not _IDENTIFIER.fullmatch(volume.volume_id):
        yield gap("id", volume.volume_id, "a name has letters, digits, - and _, 63 at most; existing sets have none")
    if plugin is None or plugin.driver is None:
        provider = f" ({plugin.provider})" if plugin else ", which Nomad does not know"
        yield gap(
            "plugin_id",
            f"{known.plugin_id}{provider}",
            "the program does not know its driver",
            "say it: --driver PLUGIN=DRIVER; another driver is one file (docs/add-a-driver.md)",
        )
        return
    if known.capacity:
        why = "its driver made it (nomad volume create), and Nomad refuses to register such a one again"
        yield gap("capacity", f"{known.capacity} bytes", why)
    yield from _mode_gaps(gap, known, plugin.driver)
    if known.has_mount_flags and flags is None:
        remedy = f"give them: --mount-flags {volume.volume_id}=FLAG,FLAG, or the Terraform state that has them"
        yield gap("mount_flags", "[REDACTED]", "Nomad does not show mount flags", remedy)
    yield from _place_gaps(gap, volume, plugin.driver)
    if plugin.driver.backend != "ebs":
        why, remedy = "Nomad does not show secrets", "if it has any, set volumes[].secrets before the first `pulumi up`"
        yield Gap(subject, "secrets", "unknown", why, remedy, leaves_out=False)


def _mode_gaps(gap: Any, known: Any, driver: CsiDriver) -> Iterator[Gap]:
    if len(known.capabilities) != 1:
        shown = "; ".join(f"{access} with {attachment}" for access, attachment in known.capabilities)
        yield gap("capability", shown or "none", "the settings have one access mode and attachment mode")
        return
    ((access_mode, attachment_mode),) = known.capabilities
    if access_mode not in driver.access_modes or attachment_mode not in driver.attachment_modes:
        yield gap(
            "capability", f"{access_mode} with {attachment_mode}", f"the {driver.name} driver does not support it"
        )
    if known.fs_type and driver.fs_types and known.fs_type not in driver.fs_types:
        yield gap("fs_type", known.fs_type, f"the {driver.name} driver does not mount this file system")


def _place_gaps(gap: Any, volume: FoundVolume, driver: CsiDriver) -> Iterator[Gap]:
    known = volume.registration
    if driver.backend == "ebs" and volume.ebs is None:
        yield gap("external_id", known.external_id, "EC2 does not have it in this account and region")
    shown = "; ".join(",".join(f"{key}={value}" for key, value in segments) for segments in known.topologies)
    if known.topologies and not driver.zonal:
        yield gap("topology_request", shown, f"volumes of the {driver.name} driver are not bound to a place")
    elif len(known.topologies) > 1 or any(len(segments) != 1 for segments in known.topologies):
        yield gap("topology_request", shown, "the settings have one zone under one key")
    elif known.topologies and volume.ebs and known.topologies[0][0][1] != volume.ebs.zone:
        yield gap("topology_request", shown, f"EC2 has the volume in {volume.ebs.zone}")


def _zone(volume: FoundVolume) -> str:
    if volume.ebs:
        return volume.ebs.zone
    return volume.registration.topologies[0][0][1] if volume.registration.topologies else ""


def _topology_key(volume: FoundVolume) -> str:
    return volume.registration.topologies[0][0][0] if volume.registration.topologies else ""


def _untouched(found: Found, plugins: Sequence[FoundPlugin], names: Sequence[str]) -> list[str]:
    """Returns the jobs that run the plugins, and those that use the volumes."""
    running = [f"job {job} (runs plugin {plugin.plugin_id})" for plugin in plugins for job in plugin.jobs]
    using = [
        f"job {job} (uses volume {volume.volume_id})"
        for volume in found.volumes
        if volume.volume_id in names
        for job in volume.users
    ]
    return [*running, *using]
