"""A volume as Nomad knows it."""

import pulumi

from nomad_stateful.components.account import in_account
from nomad_stateful.components.component_type import Component
from nomad_stateful.components.csi_registration import Place, register
from nomad_stateful.components.csi_volume_args import CsiVolumeArgs


class CsiVolume(Component):
    """Registers an existing volume with Nomad, or has the driver make one, reachable from where its topology says."""

    volume_id: pulumi.Output[str]
    """Id of the volume in Nomad, known once it is registered."""
    external_id: pulumi.Output[str]
    """Id of the volume at the storage provider."""
    registration_id: pulumi.Output[str]
    """Id of the registration."""
    restart_id: pulumi.Output[str]
    """Changes when the consumer has to restart for the file system to grow."""

    def __init__(self, name: str, args: CsiVolumeArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        placed = in_account("CsiVolume", name, args, opts)
        super().__init__("CsiVolume", name, placed)
        registered = register(Place(name, self), args)
        self.volume_id = registered.volume_id
        self.external_id = registered.external_id
        self.registration_id = registered.registration_id
        self.restart_id = registered.restart_id
        protect = args.get("protect", True)
        self.register_outputs({"volume_id": self.volume_id, "external_id": self.external_id, "protect": protect})
