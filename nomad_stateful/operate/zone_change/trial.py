"""The new volume, tried before anything is stopped: a preview does not ask EC2 whether it makes one there."""

from __future__ import annotations

from nomad_stateful.ebs.ec2_client import AwsPlace
from nomad_stateful.ebs.tags import STACK_TAG
from nomad_stateful.ebs.volumes import EbsVolumes
from nomad_stateful.errors import ProviderError
from nomad_stateful.operate import stack
from nomad_stateful.operate.drill.model import DrillError, Scratch
from nomad_stateful.operate.drill.scratch import make_like
from nomad_stateful.operate.errors import TimedOutError
from nomad_stateful.operate.zone_change.situation import ZoneChangeError


def refuse_impossible(place: AwsPlace, name: str, volume_id: str, zone: str, snapshot_id: str) -> None:
    """Has EC2 make a volume like the one that moves, and deletes it. Raises ZoneChangeError where it makes none.

    Type, key and capacity are then known to do. What a kill leaves goes with the next one, of which there is one at a
    time.
    """
    own = {"Name": f"trial of {name}", STACK_TAG: stack.tag()}
    try:
        _delete(place, own)
        make_like(place, volume_id, zone, own, Scratch(0, snapshot_id))
        _delete(place, own)
    except (ProviderError, DrillError, TimedOutError) as error:
        raise ZoneChangeError(
            f"EC2 makes no volume like {name} in {zone} from {snapshot_id}: {error}. Nothing is stopped. Fix the "
            "cause, and run the same command again"
        ) from error


def _delete(place: AwsPlace, own: dict[str, str]) -> None:
    volumes = EbsVolumes(place)
    for one in volumes.tagged(own):
        if one.state in ("available", "error"):
            volumes.delete(one.id)
