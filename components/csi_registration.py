"""The resources by which Nomad knows one volume."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict, Unpack

import pulumi
import pulumi_nomad as nomad

from nomad_stateful.components.csi_volume_args import CsiVolumeArgs
from nomad_stateful.components.ownership import claim
from nomad_stateful.sdk import CsiVolumeGuard, Ownership, VolumeGrowth, VolumeProtection

CREATE_TIMEOUT = "3m"


class _Options(TypedDict, total=False):
    depends_on: Sequence[pulumi.Input[pulumi.Resource]]
    protect: bool
    delete_before_replace: bool
    custom_timeouts: pulumi.CustomTimeouts
    replace_on_changes: list[str]
    ignore_changes: list[str]


@dataclass(frozen=True)
class RegisteredCsiVolume:
    """A volume as its consumers know it."""

    volume_id: pulumi.Output[str]
    """Id of the volume in Nomad, known once it is registered."""
    external_id: pulumi.Output[str]
    """Id of the volume at the storage provider."""
    registration_id: pulumi.Output[str]
    """Id of the registration."""
    restart_id: pulumi.Output[str]
    """Changes when the consumer has to restart for the file system to grow."""


@dataclass(frozen=True)
class Place:
    """Where the resources of one registration stand."""

    name: str
    """What their names begin with."""
    parent: pulumi.Resource
    earlier_names: Sequence[str] = ()
    """What their names may have begun with: they are the same resources."""
    earlier_parent: pulumi.Input[str] | None = None
    """URN of what they may have stood under."""

    def options(self, pattern: str, **options: Unpack[_Options]) -> pulumi.ResourceOptions:
        """Returns the options of a resource by the pattern of its name, with {} for what that begins with."""
        earlier = [pattern.format(name) for name in self.earlier_names]
        aliases = [pulumi.Alias(name=name) for name in earlier]
        if self.earlier_parent is not None:
            names = [pattern.format(self.name), *earlier]
            aliases = [pulumi.Alias(name=name, parent=self.earlier_parent) for name in names] + aliases
        return pulumi.ResourceOptions(parent=self.parent, aliases=aliases, **options)


def register(
    place: Place, args: CsiVolumeArgs, turn: Sequence[pulumi.Input[pulumi.Resource]] = ()
) -> RegisteredCsiVolume:
    """Registers an existing volume with Nomad after `turn`, or has the driver make one."""
    subject = ("volume", args["namespace"], args["volume_id"])
    claims = claim(place.name, subject, args.get("owner"), place.options("{}-ownership"))
    volume: nomad.CsiVolume | nomad.CsiVolumeRegistration
    if args.get("capacity"):
        guard = _guard(place, args, claims)
        volume = _created(place, args, guard)
        external_id = _protection(place, args, volume, guard).volume_id
    else:
        before = claims if args.get("is_guarded") else [_guard(place, args, claims)]
        volume = _registered(place, args, [*before, *turn])
        external_id = volume.external_id
    return RegisteredCsiVolume(volume.volume_id, external_id, volume.id, _restart_id(place, args, volume))


def _guard(place: Place, args: CsiVolumeArgs, claims: list[Ownership]) -> CsiVolumeGuard:
    """Returns what comes before the volume and after the claim to its id: what they refuse is not attempted."""
    return CsiVolumeGuard(
        f"{place.name}-guard",
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
        opts=place.options("{}-guard", depends_on=[*claims]),
    )


def _protection(place: Place, args: CsiVolumeArgs, made: nomad.CsiVolume, guard: CsiVolumeGuard) -> VolumeProtection:
    """Returns what is deleted before a volume that the driver made, and after what uses the volume."""
    name = f"volumes.{args['volume_id']}.protect"
    return VolumeProtection(
        name,
        volume_name=args["volume_id"],
        volume_id=made.external_id,
        protect=args.get("protect", True),
        final_snapshot=guard.final_snapshot,
        namespace=args["namespace"],
        opts=place.options(name, protect=args.get("protect", True)),
    )


def _registered(
    place: Place, args: CsiVolumeArgs, before: Sequence[pulumi.Input[pulumi.Resource]]
) -> nomad.CsiVolumeRegistration:
    return nomad.CsiVolumeRegistration(
        f"{place.name}-registration",
        volume_id=args["volume_id"],
        # Named, so that a replacement deregisters the old one first: both have the same id.
        name=args.get("registered_name") or args["volume_id"],
        namespace=args["namespace"],
        plugin_id=args["plugin_id"],
        external_id=args["external_id"],
        capabilities=[{"access_mode": args["access_mode"], "attachment_mode": args["attachment_mode"]}],
        topology_request=_topology_request(args),
        mount_options=_mount_options(args),
        context=args.get("context") or None,
        parameters=args.get("parameters") or None,
        secrets=args.get("secrets"),
        deregister_on_destroy=not args.get("retain", False),
        opts=place.options(
            "{}-registration",
            depends_on=[*before],
            delete_before_replace=True,
            # Nomad changes none of these in place, at least not under a consumer.
            replace_on_changes=["capabilities", "context", "mountOptions", "parameters", "topologyRequest"],
        ),
    )


def _created(place: Place, args: CsiVolumeArgs, guard: CsiVolumeGuard) -> nomad.CsiVolume:
    return nomad.CsiVolume(
        f"{place.name}-volume",
        volume_id=args["volume_id"],
        # The driver knows the volume by its name: two of one name would be one.
        name=f"{args['namespace']}-{args['volume_id']}",
        namespace=args["namespace"],
        plugin_id=args["plugin_id"],
        capacity_min=args.get("capacity"),
        capabilities=[{"access_mode": args["access_mode"], "attachment_mode": args["attachment_mode"]}],
        topology_request=_topology_request(args),
        mount_options=_mount_options(args),
        parameters=args.get("parameters") or None,
        secrets=args.get("secrets"),
        snapshot_id=args.get("snapshot_id"),
        opts=place.options(
            "{}-volume",
            depends_on=[guard],
            delete_before_replace=True,
            protect=args.get("protect", True),
            # The plugin is healthy by now: what the driver still refuses would be asked again for nine minutes.
            custom_timeouts=pulumi.CustomTimeouts(create=CREATE_TIMEOUT),
            # They count at creation only, and must not replace the volume; the guard refuses to change them.
            ignore_changes=["snapshotId", "pluginId", "namespace", "name", "parameters", "topologyRequest"],
        ),
    )


def _restart_id(
    place: Place, args: CsiVolumeArgs, volume: nomad.CsiVolume | nomad.CsiVolumeRegistration
) -> pulumi.Output[str]:
    size_gib = args.get("size_gib")
    if args.get("is_guarded"):
        return pulumi.Output.from_input(args.get("restart_id", ""))
    if size_gib is None or args["attachment_mode"] != "file-system":
        return pulumi.Output.from_input("")
    growth = VolumeGrowth(
        f"{place.name}-growth",
        volume_id=volume.volume_id,
        namespace=args["namespace"],
        registration_id=volume.id,
        size_gib=size_gib,
        mount_flags=args.get("mount_flags") or [],
        secrets=args.get("secrets"),
        mode=args.get("growth", "online-or-restart"),
        opts=place.options("{}-growth"),
    )
    return growth.restart_id


def _topology_request(args: CsiVolumeArgs) -> nomad.CsiVolumeTopologyRequestArgsDict | None:
    """Returns where the volume can be reached from; None: from everywhere."""
    zone, key = args.get("zone"), args.get("topology_key")
    if not zone or not key:
        return None
    segments = pulumi.Output.from_input(key).apply(lambda known: {known: zone})
    return {"required": {"topologies": [{"segments": segments}]}}


def _mount_options(args: CsiVolumeArgs) -> nomad.CsiVolumeMountOptionsArgsDict | None:
    """Returns what is set of them; the plugin refuses a block with nothing in it."""
    options: nomad.CsiVolumeMountOptionsArgsDict = {}
    if args["attachment_mode"] == "file-system":
        if fs_type := args.get("fs_type"):
            options["fs_type"] = fs_type
        if mount_flags := args.get("mount_flags"):
            options["mount_flags"] = mount_flags
    return options or None
