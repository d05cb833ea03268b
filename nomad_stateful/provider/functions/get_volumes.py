"""getVolumes: the EBS volumes that carry a stack's tag, whether or not its state knows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nomad_stateful.ebs import tags
from nomad_stateful.ebs.ec2_client import AwsPlace, refuse_another_account
from nomad_stateful.ebs.guarded_volumes import GuardedVolumes
from nomad_stateful.ebs.tags import GUARD_TAG
from nomad_stateful.plugin_server.plugin import Props
from nomad_stateful.provider.declared import DeclaredFunction
from nomad_stateful.schema.get_volumes import GET_VOLUMES
from nomad_stateful.waiting import Context


class GetVolumes(DeclaredFunction):
    """In one account and region."""

    table = GET_VOLUMES

    def __init__(self, volumes: Callable[[AwsPlace], GuardedVolumes] = GuardedVolumes) -> None:
        self._volumes = volumes

    def invoke(self, ctx: Context, args: Props) -> Props:
        wanted = self.table.arguments(args)
        stack, place = wanted["stack"], AwsPlace.of(wanted)

        def ask() -> list[Any]:
            refuse_another_account(place, f"stack {stack}")
            return self._volumes(place).of_stack(stack)

        return {**args, "volumes": [_described(one) for one in ctx.call(ask)]}


def _described(volume: dict[str, Any]) -> Props:
    known = tags.read(volume)
    return {
        "id": volume["VolumeId"],
        "name": known.get("Name", ""),
        "zone": volume["AvailabilityZone"],
        "sizeGib": volume["Size"],
        "type": volume["VolumeType"],
        "iops": volume.get("Iops", 0),
        "throughputMibps": volume.get("Throughput", 0),
        "state": volume["State"],
        "guardId": known.get(GUARD_TAG, ""),
        "tags": {key: value for key, value in known.items() if not key.startswith("aws:")},
    }
