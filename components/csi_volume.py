"""A volume as Nomad knows it."""

from typing import NotRequired, TypedDict

import pulumi
import pulumi_nomad as nomad


class CsiVolumeArgs(TypedDict):
    """Inputs of CsiVolume."""

    volume_id: str
    """Id of the volume in Nomad."""
    namespace: str
    """Nomad namespace."""
    plugin_id: pulumi.Input[str]
    """Id of the plugin that mounts it."""
    external_id: pulumi.Input[str]
    """Id of the volume at the storage provider."""
    access_mode: str
    """Access mode, such as single-node-writer."""
    attachment_mode: str
    """file-system or block-device."""
    topology_key: NotRequired[pulumi.Input[str]]
    """Topology key of the zone that the node plugins report; empty when the driver has no topology."""
    zone: NotRequired[str]
    """Zone the volume lives in."""
    fs_type: NotRequired[str]
    """File system a blank volume is formatted with."""
    mount_flags: NotRequired[list[str]]
    """Mount flags."""
    context: NotRequired[dict[str, str]]
    """Volume context handed to the driver on each mount."""
    parameters: NotRequired[dict[str, str]]
    """Parameters handed to the driver."""


class CsiVolume(pulumi.ComponentResource):
    """Registers an existing volume with Nomad, reachable only from clients of its zone."""

    volume_id: pulumi.Output[str]
    """Id of the volume in Nomad, known once it is registered."""
    external_id: pulumi.Output[str]
    """Id of the volume at the storage provider."""
    registration_id: pulumi.Output[str]
    """Id of the registration."""

    def __init__(self, name: str, args: CsiVolumeArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("nomad-stateful:index:CsiVolume", name, None, opts)
        registration = nomad.CsiVolumeRegistration(
            f"{name}-registration",
            volume_id=args["volume_id"],
            # Named, so that a replacement deregisters the old one first: both have the same id.
            name=args["volume_id"],
            namespace=args["namespace"],
            plugin_id=args["plugin_id"],
            external_id=args["external_id"],
            capabilities=[
                nomad.CsiVolumeRegistrationCapabilityArgs(
                    access_mode=args["access_mode"], attachment_mode=args["attachment_mode"]
                )
            ],
            topology_request=_topology_request(args),
            mount_options=_mount_options(args),
            context=args.get("context") or None,
            parameters=args.get("parameters") or None,
            deregister_on_destroy=True,
            opts=pulumi.ResourceOptions(parent=self, delete_before_replace=True),
        )
        self.volume_id = registration.volume_id
        self.external_id = registration.external_id
        self.registration_id = registration.id
        self.register_outputs({"volume_id": self.volume_id, "external_id": self.external_id})


def _topology_request(
    args: CsiVolumeArgs,
) -> pulumi.Input[nomad.CsiVolumeRegistrationTopologyRequestArgs] | None:
    zone, key = args.get("zone"), args.get("topology_key")
    if not zone or not key:
        return None
    segments = pulumi.Output.from_input(key).apply(lambda known: {known: zone})
    topology = nomad.CsiVolumeRegistrationTopologyRequestRequiredTopologyArgs(segments=segments)
    return nomad.CsiVolumeRegistrationTopologyRequestArgs(
        required=nomad.CsiVolumeRegistrationTopologyRequestRequiredArgs(topologies=[topology])
    )


def _mount_options(args: CsiVolumeArgs) -> nomad.CsiVolumeRegistrationMountOptionsArgs | None:
    if args["attachment_mode"] != "file-system":
        return None
    return nomad.CsiVolumeRegistrationMountOptionsArgs(
        fs_type=args.get("fs_type"), mount_flags=args.get("mount_flags") or None
    )
