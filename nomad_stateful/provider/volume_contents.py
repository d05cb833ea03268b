"""What cannot be done to a CSI volume because of what is on it already, each as key, value, rule and remedy."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from nomad_stateful.nomad.volume_claims import claims
from nomad_stateful.plugin_server.plugin import CheckFailure, Props
from nomad_stateful.plugin_server.values import contains_unknown
from nomad_stateful.waiting import Context

ON_DISK = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs"})
"""File systems that a driver makes on a blank volume, and none of which mounts as another."""
_UNITS = {"MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_ANOTHER = "For another one give a new volume a new name, and copy the data into it: a database by a dump"


def changed(olds: Props, news: Props, key: str) -> bool:
    """Tells whether an input that was set is another now; what is not known yet is not."""
    return key in olds and not contains_unknown([olds[key], news[key]]) and olds[key] != news[key]


def other_file_system(olds: Props, news: Props) -> bool:
    """Tells whether what is formatted as one file system would be mounted as another."""
    both = {olds.get("fsType"), news["fsType"]}
    mounted = olds.get("attachmentMode") == news["attachmentMode"] == "file-system"
    return mounted and changed(olds, news, "fsType") and both <= ON_DISK


def file_system_refusal(olds: Props, news: Props) -> CheckFailure:
    """Returns why the file system stays, and how to have another."""
    old = olds["fsType"]
    rule = f"the volume is formatted with {old}, and a mount as {news['fsType']} fails after its consumer was stopped"
    remedy = (
        f"Keep fsType: {old}. {_ANOTHER} (a snapshot restores {old}). If nothing on it is wanted, take the volume "
        "out of the settings, run `pulumi up`, and add it again"
    )
    return _refusal(news, "fsType", news["fsType"], rule, remedy)


def file_system(ctx: Context, olds: Props, news: Props, holders: str | None) -> list[CheckFailure]:
    """Refuses another file system: a blank volume was formatted as set; others' is known by a mount alone.

    `holders` have the volume mounted now: "" nobody, None where Nomad does not answer.
    """
    if not olds.get("hasContents") or holders is None or holders:
        return [file_system_refusal(olds, news)]
    ctx.log(
        "warning",
        f"volume {news['volumeId']} came with its contents and nothing runs on it: whether it has "
        f"{news['fsType']} and not {olds['fsType']} is taken from the settings. The driver formats no volume "
        "that has a file system",
    )
    return []


def holders(volume: Mapping[str, Any] | None) -> str:
    """Returns who has the volume mounted now, for a message; "" where nobody has."""
    return ", ".join(str(claim) for claim in claims(volume) if claim.status == "running")


def attachment_refusal(olds: Props, news: Props) -> CheckFailure:
    """Returns why a file system is not handed out as a device, nor a device mounted."""
    old = olds["attachmentMode"]
    rule = (
        "there is a file system on the volume, which whatever writes to the device destroys"
        if old == "file-system"
        else "what is on the device is not a file system the driver knows: it makes one, over the data"
    )
    return _refusal(news, "attachmentMode", news["attachmentMode"], rule, f"Keep attachmentMode: {old}. {_ANOTHER}")


def provision_refusal(news: Props) -> CheckFailure:
    """Returns why a volume is not handed over between its driver and the program."""
    if news["madeByDriver"]:
        rule = "the volume exists, and the driver would put an empty one in its place"
    else:
        rule = "its driver made the volume, and would delete it"
    return _refusal(news, "provision", "changed", rule, f"Change it back. {_ANOTHER}")


def made_otherwise(olds: Props, news: Props) -> Iterator[CheckFailure]:
    """Yields what would need another volume than the one that the driver has made."""
    if changed(olds, news, "zone"):
        rule = f"a volume cannot move, and this one is in {olds['zone']}"
        yield _refusal(news, "zone", news["zone"], rule, f"Keep zone: {olds['zone']}. {_ANOTHER}")
    for key, setting in (("pluginId", "plugin"), ("namespace", "namespace")):
        if changed(olds, news, key):
            rule = f"the driver made the volume for {setting} {olds[key]}, and would delete it to make an empty one"
            yield _refusal(news, setting, news[key], rule, f"Change it back to {olds[key]}. {_ANOTHER}")
    if changed(olds, news, "parameters"):
        rule = "parameters count when the driver makes a volume, and this one exists"
        yield _refusal(news, "parameters", "changed", rule, f"Change them back. {_ANOTHER}")
    if news["snapshotId"] != "" and changed(olds, news, "snapshotId"):
        rule = "a volume takes a snapshot's contents when it is made, and this one exists"
        remedy = "Change it back, and give a new volume a new name with this snapshotId"
        yield _refusal(news, "snapshotId", news["snapshotId"], rule, remedy)
    had, wanted = _bytes(olds.get("capacity")), _bytes(news["capacity"])
    if had and wanted and wanted < had:
        rule = f"a volume cannot shrink, and this one has {olds['capacity']}"
        yield _refusal(news, "sizeGib", news["capacity"], rule, f"Keep {olds['capacity']} or more. {_ANOTHER}")


def in_use(olds: Props, news: Props, holders: str) -> Iterator[CheckFailure]:
    """Yields what Nomad does not change in a volume of a driver's own while it is claimed."""
    for key in ("mountFlags", "accessMode"):
        if changed(olds, news, key):
            rule = f"Nomad does not change it while the volume is in use, by {holders}"
            remedy = (
                "Take the volume's mount out of its consumers, run `pulumi up`, then change it and add the mount again"
            )
            yield _refusal(news, key, "changed" if key == "mountFlags" else news[key], rule, remedy)


def is_made_by_driver(volume: Mapping[str, Any]) -> bool:
    """Tells by Nomad's record whether a driver made the volume: of others no capacity was requested."""
    return int(volume.get("RequestedCapacityMin") or 0) > 0


def seen_in_nomad(volume: Mapping[str, Any]) -> Props:
    """Returns what Nomad's record says of a volume that a driver made, as the inputs it must have been made with."""
    segments = [topology.get("Segments") or {} for topology in volume.get("Topologies") or []]
    zones = {zone for segment in segments for key, zone in segment.items() if key.endswith("/zone")}
    capacity = int(volume.get("RequestedCapacityMin") or 0) // _UNITS["MiB"]
    seen: Props = {"pluginId": volume.get("PluginID"), "capacity": f"{capacity}MiB"}
    return seen | ({"zone": zones.pop()} if len(zones) == 1 else {})


def _bytes(size: Any) -> int:
    """Returns a size with its unit in bytes; 0 for what is not one."""
    found = re.fullmatch(r"(\d+)\s*([MGT]iB)", size) if isinstance(size, str) else None
    return int(found[1]) * _UNITS[found[2]] if found else 0


def _refusal(news: Props, key: str, value: Any, rule: str, remedy: str) -> CheckFailure:
    return CheckFailure("", f"volumes.{news['volumeId']}.{key} is {value or 'not set'}: {rule}. {remedy}")
