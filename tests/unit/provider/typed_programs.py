"""What mypy finds in programs; `make check` fails where it finds less, since an ignored line must have an error."""

from collections.abc import Mapping
from typing import assert_type

import pulumi

from nomad_stateful.sdk import PluginHealth, VolumeGuard, VolumeProtection, VolumeRelease


def right(known: pulumi.Output[str], opts: pulumi.ResourceOptions) -> None:
    """Inputs may be outputs, also inside of maps; those that are not required may be None."""
    guard = VolumeGuard("data", volume_name="data", zone=known, size_gib=1, snapshot_id=None, opts=opts)
    assert_type(guard.size_gib, pulumi.Output[int])
    assert_type(guard.final_snapshot, pulumi.Output[bool])
    release = VolumeRelease("data", volume_id=guard.volume_name, triggers={"job": known})
    assert_type(release.release_id, pulumi.Output[str])
    assert_type(PluginHealth("ebs", plugin_id="ebs").zones_healthy, pulumi.Output[Mapping[str, int]])
    VolumeProtection("data", volume_name="data", volume_id="vol-1", mount_flags=["ro"], secrets={"key": known})


def wrong(known: pulumi.Output[str]) -> None:
    """An input that is missing, unknown, an output alone, or of another type."""
    VolumeGuard("data", volume_name="data", zone="a")  # type: ignore[call-arg]
    VolumeGuard("data", volume_name="data", zone="a", size_gib=1, nope="")  # type: ignore[call-arg]
    VolumeRelease("data", volume_id="data", release_id="")  # type: ignore[call-arg]
    VolumeGuard("data", volume_name="data", zone=None, size_gib=1)  # type: ignore[arg-type]
    VolumeGuard("data", volume_name="data", zone="a", size_gib=known)  # type: ignore[arg-type]
    VolumeRelease("data", volume_id="data", triggers={"job": 1})  # type: ignore[dict-item]
    VolumeGuard(volume_name="data", zone="a", size_gib=1)  # type: ignore[call-arg]
