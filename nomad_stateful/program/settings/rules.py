"""Rules that span several sections of the settings."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from nomad_stateful.drivers.model import CsiDriver
from nomad_stateful.program.settings import group, mount_flags
from nomad_stateful.program.settings.consumer import Consumer
from nomad_stateful.program.settings.database import DatabaseSection
from nomad_stateful.program.settings.errors import Refusal
from nomad_stateful.program.settings.failover import Failover
from nomad_stateful.program.settings.metrics import Metrics, database_exporter
from nomad_stateful.program.settings.plugin import Plugin
from nomad_stateful.program.settings.volume import Volume


def check_names(section: str, key: str, names: list[str]) -> None:
    """Names within a section are unique."""
    for name, count in Counter(names).items():
        if count > 1:
            raise Refusal(
                f"{section}.{name}.{key}", name, f"{count} {section} have this {key}", f"give each a {key} of its own"
            )


def plugin_of(volume: Volume, plugins: list[Plugin]) -> Plugin:
    """Returns the plugin that mounts a volume; the first one unless it names another."""
    wanted = volume.plugin or plugins[0].id
    for plugin in plugins:
        if plugin.id == wanted:
            return plugin
    known = ", ".join(plugin.id for plugin in plugins)
    raise Refusal(f"volumes.{volume.name}.plugin", wanted, "there is no such plugin", f"use one of {known}")


def job_ids(plugin: Plugin) -> dict[str, str]:
    """Returns the ids of the jobs by which the stack runs a plugin, by role; none of one that is existing."""
    if plugin.existing:
        return {}
    own = {"controller": plugin.job_ids.controller, "node": plugin.job_ids.node, "monolith": plugin.job_ids.node}
    return {role: own[role] or f"plugin-{plugin.id}-{role}" for role in plugin.known.roles}


def check_volume(volume: Volume, plugins: list[Plugin]) -> None:
    """A volume asks for nothing that its driver cannot do."""
    plugin = plugin_of(volume, plugins)
    driver, key = plugin.known, f"volumes.{volume.name}"
    _check_modes(volume, driver, key)
    _check_external_id(volume, driver, key)
    if volume.provision == "pulumi" and driver.name != "ebs":
        raise Refusal(
            f"{key}.provision", "pulumi", "Pulumi makes EBS volumes only", "set provision to plugin or existing"
        )
    if volume.provision == "plugin" and not driver.controllers:
        raise Refusal(
            f"{key}.provision", "plugin", f"the {driver.name} driver has no controller", "set provision to existing"
        )
    if volume.final_snapshot and (driver.backend != "ebs" or volume.provision == "existing"):
        existing = volume.provision == "existing"
        raise Refusal(
            f"{key}.finalSnapshot",
            "true",
            "an existing volume is never deleted here"
            if existing
            else f"of volumes of the {driver.name} driver no snapshot is taken here",
            "remove it" if existing else "remove it, keep protect: true, and take a copy before the volume is deleted",
        )
    if volume.snapshots and driver.backend != "ebs":
        rule = f"is for EBS volumes: AWS takes no snapshots of volumes of the {driver.name} driver"
        remedy = "remove it, and take snapshots in the storage's own system"
        raise Refusal(f"{key}.snapshots", f"{len(volume.snapshots)} schedules", rule, remedy)
    _check_zone(volume, plugin, key)


def _check_modes(volume: Volume, driver: CsiDriver, key: str) -> None:
    if volume.access_mode not in driver.access_modes:
        modes = ", ".join(sorted(driver.access_modes))
        reads = volume.access_mode.endswith("reader-only")
        rule = f"the {driver.name} driver does not support this access mode"
        remedy = f"use {modes}" + ("; readOnly: true on a mount keeps its job from writing" if reads else "")
        raise Refusal(f"{key}.accessMode", volume.access_mode, rule, remedy)
    if volume.attachment_mode not in driver.attachment_modes:
        modes = ", ".join(sorted(driver.attachment_modes))
        rule = f"the {driver.name} driver does not support this attachment mode"
        raise Refusal(f"{key}.attachmentMode", volume.attachment_mode, rule, f"use {modes}")
    mounted = volume.attachment_mode == "file-system"
    if mounted and volume.fs_type and driver.fs_types and volume.fs_type not in driver.fs_types:
        rule = f"the {driver.name} driver does not mount this file system"
        raise Refusal(f"{key}.fsType", volume.fs_type, rule, f"use one of {', '.join(sorted(driver.fs_types))}")
    fs_type = volume.fs_type or driver.default_fs_type
    if mounted and (flag := mount_flags.foreign(fs_type, volume.mount_flags)):
        rule = f"is not a mount flag of {fs_type}, and the mount would fail"
        raise Refusal(f"{key}.mountFlags", flag, rule, "remove it, or correct it")


def _check_external_id(volume: Volume, driver: CsiDriver, key: str) -> None:
    is_ebs = volume.provision == "existing" and driver.backend == "ebs"
    if is_ebs and not re.fullmatch(r"vol-([0-9a-f]{8}|[0-9a-f]{17})", volume.external_id or ""):
        rule = "must be the id of an EBS volume, vol- and 17 digits of 0-9 and a-f"
        remedy = "look it up in the EC2 console, or with aws ec2 describe-volumes"
        raise Refusal(f"{key}.externalId", volume.external_id, rule, remedy)


def _check_zone(volume: Volume, plugin: Plugin, key: str) -> None:
    zones = [member.zone for member in volume.members]
    if plugin.known.zonal and not all(zones):
        raise Refusal(f"{key}.zone", None, f"a volume of the {plugin.driver} driver lives in one zone", "set it")
    if not plugin.known.zonal and any(zones):
        raise Refusal(
            f"{key}.zone", zones[0], f"volumes of the {plugin.driver} driver are not bound to a zone", "remove it"
        )
    outside = [zone for zone in zones if plugin.zones and zone and zone not in plugin.zones]
    if outside:
        rule = f"plugin {plugin.id} runs in {', '.join(plugin.zones)} only"
        raise Refusal(f"{key}.zone", outside[0], rule, "use one of these zones, or another plugin")


def check_one_database(names: list[str]) -> None:
    """A stack has one database at most."""
    if len(names) > 1:
        remedy = "remove one of them, or give it a stack of its own"
        raise Refusal(names[1], "set", f"a stack has one database, and {names[0]} is set", remedy)


def check_database(section: DatabaseSection, volumes: list[Volume]) -> None:
    """The database has a volume that it can write files to."""
    key, title = f"{section.kind.name}.volume", section.kind.title
    is_group = section.replication is not None
    names = [volume.name for volume in volumes if is_group or volume.count is None]
    volume = next((volume for volume in volumes if volume.name == section.volume), None)
    if volume is None or not (is_group or volume.count is None or group.could_be(section, volume)):
        rule = "there is no such volume" if volume is None else f"this is a set, and {title} has a single volume"
        raise Refusal(key, section.volume, rule, f"use one of {', '.join(names)}")
    writable = volume.access_mode in ("single-node-writer", "multi-node-single-writer", "multi-node-multi-writer")
    if not writable or volume.attachment_mode != "file-system":
        rule = f"{title} writes files, but the volume is {volume.access_mode} and {volume.attachment_mode}"
        remedy = f"set volumes.{volume.name}.accessMode to single-node-writer and attachmentMode to file-system"
        raise Refusal(key, volume.name, rule, remedy)
    if is_group:
        group.check_volumes(section, volume)


def check_ports(section: DatabaseSection, consumers: Iterable[Consumer], metrics: Metrics | None, pool: str) -> None:
    """No other job has a port on clients that a group has there; its clients are those of the node pool."""
    if section.replication is not None:
        near = [one for one in consumers if "all" in (pool, one.node_pool) or one.node_pool in (None, pool)]
        group.check_ports(section, section.replication, _ports(section, near, metrics))


def _ports(
    section: DatabaseSection, consumers: Iterable[Consumer], metrics: Metrics | None
) -> Iterator[tuple[str, int]]:
    """Yields the setting and the port on the client of exporters and consumers."""
    exporter = database_exporter(metrics, section)
    if exporter is not None:
        yield f"metrics.{section.kind.name}.port", exporter.port
    if metrics is not None and metrics.volumes is not None:
        yield "metrics.volumes.port", metrics.volumes.port
    for consumer in consumers:
        for index, port in enumerate(consumer.ports):
            yield f"consumers.{consumer.name}.ports.{index}.static", port.static


def check_agent(image: str | None, section: DatabaseSection | None, failover: Failover | None) -> None:
    """What the agent does has its image."""
    name = section.kind.name if section else ""
    tasks = {
        f"{name}.backup.s3": section and section.backup and section.backup.s3,
        f"{name}.pointInTime": section and section.logs,
        f"{name}.group": section and section.replication,
        "failover": failover,
    }
    if image is None and (needing := [key for key, set_ in tasks.items() if set_]):
        remedy = "build it and push it (`make image`, docs/agent.md), and name it by its digest or tag"
        verb = "runs" if len(needing) == 1 else "run"
        rule = f"{' and '.join(needing)} {verb} in docker, by the agent's image"
        raise Refusal("agentImage", None, rule, remedy)
