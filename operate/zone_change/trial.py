"""The new volume, tried before anything is stopped: a preview does not ask EC2 whether it makes one there."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from nomad_stateful.ebs import tags
from nomad_stateful.ebs.tags import STACK_TAG
from operate import stack
from operate.drill.model import DrillError, Scratch
from operate.drill.snapshots import make_like
from operate.errors import TimedOutError
from operate.zone_change.situation import ZoneChangeError


def refuse_impossible(ec2: Any, name: str, volume_id: str, zone: str, snapshot_id: str) -> None:
    """Has EC2 make a volume like the one that moves, and deletes it. Raises ZoneChangeError where it makes none.

    Type, key and capacity are then known to do. What a kill leaves goes with the next one, of which there is one at a
    time.
    """
    own = {"Name": f"trial of {name}", STACK_TAG: stack.tag()}
    try:
        _delete(ec2, own)
        make_like(ec2, volume_id, zone, own, Scratch(0, snapshot_id))
        _delete(ec2, own)
    except (BotoCoreError, ClientError, DrillError, TimedOutError) as error:
        raise ZoneChangeError(
            f"EC2 makes no volume like {name} in {zone} from {snapshot_id}: {error}. Nothing is stopped. Fix the "
            "cause, and run the same command again"
        ) from error


def _delete(ec2: Any, own: dict[str, str]) -> None:
    filters = [{"Name": f"tag:{key}", "Values": [value]} for key, value in own.items()]
    alive = {"Name": "status", "Values": ["available", "error"]}
    for one in ec2.describe_volumes(Filters=[*filters, alive])["Volumes"]:
        # EC2's tags are eventually right: what is deleted has these.
        if own.items() <= tags.read(one).items():
            ec2.delete_volume(VolumeId=one["VolumeId"])
