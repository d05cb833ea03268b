"""Every volume of a stack as Nomad knows it, under one node of the state."""

from collections.abc import Mapping
from typing import NotRequired, TypedDict

import pulumi

from nomad_stateful.components.account import account_of, in_account
from nomad_stateful.components.component_type import Component, earlier_type
from nomad_stateful.components.csi_registration import Place, RegisteredCsiVolume, register
from nomad_stateful.components.csi_volume_args import CsiVolumeArgs

_OWN_COMPONENT = earlier_type("CsiVolume")
"""What each volume stood under in 0.1.0."""


class CsiVolumesArgs(TypedDict):
    """Inputs of CsiVolumes."""

    volumes: list[CsiVolumeArgs]
    """The volumes."""
    earlier_ids: NotRequired[dict[str, list[str]]]
    """Ids that a volume may have had, by its id: it is the same registration under the new one, with new parts."""


class CsiVolumes(Component):
    """Registers volumes with Nomad, as CsiVolume does one."""

    volume_ids: dict[str, pulumi.Output[str]]
    """Ids of the volumes in Nomad, known once they are registered, by volume id."""
    external_ids: dict[str, pulumi.Output[str]]
    """Ids at the storage provider, by volume id."""
    registration_ids: dict[str, pulumi.Output[str]]
    """Ids of the registrations, by volume id."""
    restart_ids: dict[str, pulumi.Output[str]]
    """By volume id: changes when the consumer has to restart for the file system to grow."""

    def __init__(
        self,
        name: str,
        args: CsiVolumesArgs,
        opts: pulumi.ResourceOptions | None = None,
        *,
        turns: Mapping[str, pulumi.Input[pulumi.Resource]] | None = None,
    ) -> None:
        """Registers them; `turns` has by id what is there before a volume is registered, or registered anew."""
        placed = in_account("CsiVolumes", name, account_of(args["volumes"]), opts)
        super().__init__("CsiVolumes", name, placed)
        own = pulumi.create_urn(name, _OWN_COMPONENT)
        earlier_ids = args.get("earlier_ids", {})
        self._registered = {}
        for one in args["volumes"]:
            volume_id = one["volume_id"]
            earlier = [_name(earlier_id) for earlier_id in earlier_ids.get(volume_id, [])]
            turn = [turns[volume_id]] if turns and volume_id in turns else []
            self._registered[volume_id] = register(Place(_name(volume_id), self, earlier, own), one, turn)
        self.volume_ids = {key: one.volume_id for key, one in self._registered.items()}
        self.external_ids = {key: one.external_id for key, one in self._registered.items()}
        self.registration_ids = {key: one.registration_id for key, one in self._registered.items()}
        self.restart_ids = {key: one.restart_id for key, one in self._registered.items()}
        protected = {one["volume_id"]: one.get("protect", True) for one in args["volumes"]}
        # Consumers take the outputs: in the state they would be there twice.
        self.register_outputs({"protected": protected})

    @property
    def registered(self) -> dict[str, RegisteredCsiVolume]:
        """Returns the volumes by id."""
        return self._registered


def _name(volume_id: str) -> str:
    return f"volume-{volume_id}"
