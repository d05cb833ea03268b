"""Tags by which the program finds its EBS volumes and snapshots again, and how EC2 writes tags."""

from collections.abc import Mapping
from typing import Any

MANAGED_TAG = "ebs.csi.aws.com/cluster"
"""Value: true, of the volumes that the EBS driver may attach; AWS's own managed policy for it goes by it too."""
GUARD_TAG = "nomad-stateful-guard"
"""Value: id of the volume's VolumeGuard."""
STACK_TAG = "nomad-stateful-stack"
"""Value: PROJECT/STACK."""
FINAL_TAG = "nomad-stateful-final-snapshot-of"
"""Value: id of the volume that the snapshot was taken of before its deletion."""
LEFT_TAG = "nomad-stateful-left"
"""Value: PROJECT/STACK/VOLUME, of an EBS volume that stayed where it was when the volume moved to another zone."""
MOVE_TAG = "nomad-stateful-move"
"""Value: the zone that the volume moves to, of the last snapshot before its move; FIRST of the one before the
last, also of an upgrade."""
FIRST = "first"
"""Of a snapshot that was taken while the volume's consumers run: what they wrote since is not in it."""
GIVEN_UP_TAG = "nomad-stateful-given-up"
"""Value: when (UTC), of an EBS volume whose zone is lost: nothing waits until it is detached any more."""
SNAPSHOTS_TAG = "nomad-stateful-snapshots"
"""Value: PROJECT/STACK/VOLUME, of a volume whose snapshots are taken on schedule, and of these snapshots."""
DRILL_TAG = "nomad-stateful-drill"
"""Value: PROJECT/STACK/VOLUME, of the scratch volumes that drills of that volume's snapshots make."""
RESTORED_TAG = "nomad-stateful-restored"
"""Value: id of the EBS volume whose data a snapshot has as of a point in time; it was taken of a scratch volume."""
AS_OF_TAG = "nomad-stateful-as-of"
"""Value: that point in time, as 2026-11-22T10:15:00+00:00."""


def upgrade_tag(database: str) -> str:
    """Returns the tag of the snapshot from before a database's upgrade: the versions and the image before."""
    return f"nomad-stateful-{database}-upgrade"


def stack_of(known: Mapping[str, str]) -> str:
    """Returns the PROJECT/STACK that a volume or snapshot is of by its tags; "" where they do not say."""
    of_volume = known.get(SNAPSHOTS_TAG) or known.get(LEFT_TAG) or ""
    return known.get(STACK_TAG) or "/".join(of_volume.split("/")[:2])


def of_snapshot(volume_tags: Mapping[str, str]) -> dict[str, str]:
    """Returns those of a volume's tags that its snapshots get: not the driver's, by which drivers may delete them."""
    left_out = (MANAGED_TAG, GUARD_TAG)
    return {key: value for key, value in volume_tags.items() if not key.startswith("aws:") and key not in left_out}


def read(described: Mapping[str, Any]) -> dict[str, str]:
    """Returns the tags of a volume or snapshot as EC2 describes it."""
    return {str(one["Key"]): str(one["Value"]) for one in described.get("Tags") or []}


def listed(tags: Mapping[str, str]) -> list[dict[str, str]]:
    """Returns tags as EC2 takes them."""
    return [{"Key": key, "Value": value} for key, value in tags.items()]
