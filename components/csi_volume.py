"""A volume as Nomad knows it."""

from typing import NotRequired, TypedDict

import pulumi
import pulumi_nomad as nomad

from nomad_stateful.sdk import CsiVolumeGuard, Ownership, VolumeGrowth, VolumeProtection

from .ownership import Owner, claim

CREATE_TIMEOUT = "3m"


class CsiVolumeArgs(TypedDict):
    """Inputs of CsiVolume."""

    volume_id: str
    """Id of the volume in Nomad."""
    namespace: str
    """Nomad namespace."""
    plugin_id: pulumi.Input[str]
    """Id of the plugin that mounts it."""
    external_id: pulumi.Input[str]
    """Id of the volume at the storage provider; empty when the driver makes it."""
    capacity: NotRequired[str | None]
    """Size with its unit, such as 2GiB, of a volume that the driver makes; none registers an existing one."""
    snapshot_id: NotRequired[pulumi.Input[str] | None]
    """Snapshot from which the driver makes the volume."""
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
    context: NotRequired[pulumi.Input[dict[str, str]]]
    """Volume context handed to the driver on each mount."""
    parameters: NotRequired[pulumi.Input[dict[str, str]]]
    """Parameters handed to the driver."""
    secrets: NotRequired[pulumi.Input[dict[str, str]] | None]
    """Secrets handed to the driver (secret)."""
    protect: NotRequired[bool]
    """Refuse to delete or replace a volume that the driver made; true by default."""
    size_gib: NotRequired[pulumi.Input[int] | None]
    """Size in GiB of existing storage that may grow: when it does, its file system grows too."""
    has_contents: NotRequired[bool]
    """Whether the storage has contents already: it existed, or was made from a snapshot."""
    formatted_as: NotRequired[str]
    """File system on a volume whose fs_type is left to the driver, where that is known."""
    final_snapshot: NotRequired[bool | None]
    """Take a snapshot before an EBS volume that the driver made is deleted; by default once it was protected."""
    region: NotRequired[str]
    """AWS region of an EBS volume that the driver makes; by default the AWS configuration's."""
    account_id: NotRequired[str]
    """AWS account of an EBS volume that the driver makes."""
    aws_config: NotRequired[pulumi.Input[str]]
    """The aws provider's configuration as JSON; without it all of it is in the environment."""
    owner: NotRequired[Owner | None]
    """Whose the registration is: claimed before it is made. Of a volume that was made for it alone, leave it out."""
    growth: NotRequired[str]
    """How a mounted file system grows: online, restart, or online-or-restart (the default)."""


class CsiVolume(pulumi.ComponentResource):
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
        super().__init__("nomad-stateful:index:CsiVolume", name, None, opts)
        claims = claim(name, ("volume", args["namespace"], args["volume_id"]), args.get("owner"), self)
        guard = _guard(name, args, self, claims)
        volume: nomad.CsiVolume | nomad.CsiVolumeRegistration
        if args.get("capacity"):
            volume = _created(name, args, self, guard)
            self.external_id = _protection(args, volume, guard, self).volume_id
        else:
            volume = _registered(name, args, self, guard)
            self.external_id = volume.external_id
        self.volume_id = volume.volume_id
        self.registration_id = volume.id
        self.restart_id = _growth(name, args, volume, self)
        protect = args.get("protect", True)
        self.register_outputs({"volume_id": self.volume_id, "external_id": self.external_id, "protect": protect})


def _guard(name: str, args: CsiVolumeArgs, parent: pulumi.Resource, claims: list[Ownership]) -> CsiVolumeGuard:
    """Returns what comes before the volume and after the claim to its id: what they refuse is not attempted."""
    return CsiVolumeGuard(
        f"{name}-guard",
        volume_id=args["volume_id"],
        plugin_id=args["plugin_id"],
        namespace=args["namespace"],
        external_id="" if args.get("capacity") else args["external_id"],
        made_by_driver=bool(args.get("capacity")),
        has_contents=args.get("has_contents", not args.get("capacity")) or bool(args.get("snapshot_id")),
        capacity=args.get("capacity") or "",
        zone=args.get("zone", ""),
        snapshot_id=(args.get("snapshot_id") or "") if args.get("capacity") else "",
        parameters=args.get("parameters"),
        access_mode=args["access_mode"],
        attachment_mode=args["attachment_mode"],
        fs_type=args.get("fs_type") or args.get("formatted_as", ""),
        mount_flags=args.get("mount_flags"),
        protect=args.get("protect", True),
        final_snapshot=args.get("final_snapshot"),
        opts=pulumi.ResourceOptions(parent=parent, depends_on=claims),
    )


def _protection(
    args: CsiVolumeArgs, made: nomad.CsiVolume, guard: CsiVolumeGuard, parent: pulumi.Resource
) -> VolumeProtection:
    """Returns what is deleted before a volume that the driver made, and after what uses the volume."""
    return VolumeProtection(
        f"volumes.{args['volume_id']}.protect",
        volume_name=args["volume_id"],
        volume_id=made.external_id,
        final_snapshot=guard.final_snapshot,
        namespace=args["namespace"],
        region=args.get("region", ""),
        account_id=args.get("account_id", ""),
        aws_config=args.get("aws_config", ""),
        opts=pulumi.ResourceOptions(parent=parent, protect=args.get("protect", True)),
    )


def _registered(
    name: str, args: CsiVolumeArgs, parent: pulumi.Resource, guard: CsiVolumeGuard
) -> nomad.CsiVolumeRegistration:
    return nomad.CsiVolumeRegistration(
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
        mount_options=nomad.CsiVolumeRegistrationMountOptionsArgs(**options)
        if (options := _mount_options(args))
        else None,
        context=args.get("context") or None,
        parameters=args.get("parameters") or None,
        secrets=args.get("secrets"),
        deregister_on_destroy=True,
        opts=pulumi.ResourceOptions(
            parent=parent,
            depends_on=[guard],
            delete_before_replace=True,
            # Nomad changes none of these in place, at least not under a consumer.
            replace_on_changes=["capabilities", "context", "mountOptions", "parameters", "topologyRequest"],
        ),
    )


def _created(name: str, args: CsiVolumeArgs, parent: pulumi.Resource, guard: CsiVolumeGuard) -> nomad.CsiVolume:
    segments, request = _segments(args), None
    if segments is not None:
        topology = nomad.CsiVolumeTopologyRequestRequiredTopologyArgs(segments=segments)
        request = nomad.CsiVolumeTopologyRequestArgs(
            required=nomad.CsiVolumeTopologyRequestRequiredArgs(topologies=[topology])
        )
    return nomad.CsiVolume(
        f"{name}-volume",
        volume_id=args["volume_id"],
        # The driver knows the volume by its name: two of one name would be one.
        name=f"{args['namespace']}-{args['volume_id']}",
        namespace=args["namespace"],
        plugin_id=args["plugin_id"],
        capacity_min=args.get("capacity"),
        capabilities=[
            nomad.CsiVolumeCapabilityArgs(access_mode=args["access_mode"], attachment_mode=args["attachment_mode"])
        ],
        topology_request=request,
        mount_options=nomad.CsiVolumeMountOptionsArgs(**options) if (options := _mount_options(args)) else None,
        parameters=args.get("parameters") or None,
        secrets=args.get("secrets"),
        snapshot_id=args.get("snapshot_id"),
        opts=pulumi.ResourceOptions(
            parent=parent,
            depends_on=[guard],
            delete_before_replace=True,
            protect=args.get("protect", True),
            # The plugin is healthy by now: what the driver still refuses would be asked again for nine minutes.
            custom_timeouts=pulumi.CustomTimeouts(create=CREATE_TIMEOUT),
            # They count at creation only, and must not replace the volume; the guard refuses to change them.
            ignore_changes=["snapshotId", "pluginId", "namespace", "name", "parameters", "topologyRequest"],
        ),
    )


def _growth(
    name: str, args: CsiVolumeArgs, volume: nomad.CsiVolume | nomad.CsiVolumeRegistration, parent: pulumi.Resource
) -> pulumi.Output[str]:
    size_gib = args.get("size_gib")
    if size_gib is None or args["attachment_mode"] != "file-system":
        return pulumi.Output.from_input("")
    growth = VolumeGrowth(
        f"{name}-growth",
        volume_id=volume.volume_id,
        namespace=args["namespace"],
        registration_id=volume.id,
        size_gib=size_gib,
        mount_flags=args.get("mount_flags") or [],
        secrets=args.get("secrets"),
        mode=args.get("growth", "online-or-restart"),
        opts=pulumi.ResourceOptions(parent=parent),
    )
    return growth.restart_id


def _segments(args: CsiVolumeArgs) -> pulumi.Output[dict[str, str]] | None:
    """Returns where the volume can be reached from; None: from everywhere."""
    zone, key = args.get("zone"), args.get("topology_key")
    if not zone or not key:
        return None
    return pulumi.Output.from_input(key).apply(lambda known: {known: zone})


def _topology_request(
    args: CsiVolumeArgs,
) -> pulumi.Input[nomad.CsiVolumeRegistrationTopologyRequestArgs] | None:
    segments = _segments(args)
    if segments is None:
        return None
    topology = nomad.CsiVolumeRegistrationTopologyRequestRequiredTopologyArgs(segments=segments)
    return nomad.CsiVolumeRegistrationTopologyRequestArgs(
        required=nomad.CsiVolumeRegistrationTopologyRequestRequiredArgs(topologies=[topology])
    )


class _MountOptions(TypedDict, total=False):
    fs_type: str
    mount_flags: list[str]


def _mount_options(args: CsiVolumeArgs) -> _MountOptions:
    """Returns what is set of them; the plugin refuses a block with nothing in it."""
    options: _MountOptions = {}
    if args["attachment_mode"] == "file-system":
        if fs_type := args.get("fs_type"):
            options["fs_type"] = fs_type
        if mount_flags := args.get("mount_flags"):
            options["mount_flags"] = mount_flags
    return options
