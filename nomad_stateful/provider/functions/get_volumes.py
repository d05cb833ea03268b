"""getVolumes: the EBS volumes that carry a stack's tag, whether or not its state knows them."""

from __future__ import annotations

from collections.abc import Callable

from nomad_stateful.ebs.ec2_client import AwsPlace, refuse_another_account
from nomad_stateful.ebs.tags import GUARD_TAG, STACK_TAG
from nomad_stateful.ebs.volumes import EbsVolumes, Volume
from nomad_stateful.plugin_server.plugin import Props
from nomad_stateful.provider.account import InAccount
from nomad_stateful.provider.declared import DeclaredFunction
from nomad_stateful.schema.functions import GET_VOLUMES
from nomad_stateful.waiting import Context


class GetVolumes(InAccount, DeclaredFunction):
    """In one account and region: the provider's, unless another one is given."""

    table = GET_VOLUMES

    def __init__(self, volumes: Callable[[AwsPlace], EbsVolumes] = EbsVolumes) -> None:
        self._volumes = volumes

    def invoke(self, ctx: Context, args: Props) -> Props:
        wanted = self.table.arguments(args)
        stack, place = wanted["stack"], self.given(wanted)

        def ask() -> list[Volume]:
            refuse_another_account(place, f"stack {stack}")
            return self._volumes(place).tagged({STACK_TAG: stack})

        return {**args, "volumes": [_described(one) for one in ctx.call(ask)]}


def _described(volume: Volume) -> Props:
    return {
        "id": volume.id,
        "name": volume.tags.get("Name", ""),
        "zone": volume.zone,
        "sizeGib": volume.size_gib,
        "type": volume.type,
        "iops": volume.iops or 0,
        "throughputMibps": volume.throughput_mibps or 0,
        "state": volume.state,
        "guardId": volume.tags.get(GUARD_TAG, ""),
        "tags": {key: value for key, value in volume.tags.items() if not key.startswith("aws:")},
    }
