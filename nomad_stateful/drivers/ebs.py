"""aws-ebs-csi-driver: block volumes of one availability zone, attached to one instance at a time.

Arguments: https://github.com/kubernetes-sigs/aws-ebs-csi-driver/blob/master/docs/options.md
"""

from nomad_stateful.drivers.ebs_flags import CONTROLLER_ONLY, NODE_ONLY, OWN_FLAGS, for_role
from nomad_stateful.drivers.model import CsiDriver, DriverOptions, PluginTask, parse_version
from nomad_stateful.ebs import tags

RESERVED_ATTACHMENTS_SINCE = (1, 29, 0)
METADATA_SOURCES_SINCE = (1, 45, 0)

MANAGED_TAG = tags.MANAGED_TAG
MANAGED_TAG_VALUE = "true"
"""The driver may touch only volumes and snapshots with this tag."""

NAME_TAG = "CSIVolumeName"
"""Of volumes that a driver made."""
SNAPSHOT_NAME_TAG = "CSIVolumeSnapshotName"
"""Of snapshots that a driver took."""
RESERVED_TAGS = frozenset({NAME_TAG, SNAPSHOT_NAME_TAG, MANAGED_TAG})
RESERVED_TAG_PREFIXES = ("kubernetes.io",)
"""The driver does not start with extra tags of these keys and prefixes."""


def _common_args(options: DriverOptions) -> list[str]:
    args = [f"--endpoint={options.endpoint}", "--logtostderr", f"--v={options.log_level}"]
    return [*args, f"--http-endpoint={options.metrics_address}"] if options.metrics_address else args


def controller_args(options: DriverOptions) -> list[str]:
    """Returns the command line of a controller plugin."""
    args = ["controller", *_common_args(options)]
    if options.extra_tags:
        pairs = ",".join(f"{key}={value}" for key, value in sorted(options.extra_tags.items()))
        args.append(f"--extra-tags={pairs}")
    return [*args, *for_role(options.extra_args, NODE_ONLY)]


def node_args(options: DriverOptions) -> list[str]:
    """Returns the command line of a node plugin, without flags that its version does not know, with which it fails."""
    args = ["node", *_common_args(options)]
    version = parse_version(options.version)
    if options.volume_attach_limit is not None:
        args.append(f"--volume-attach-limit={options.volume_attach_limit}")
    elif options.reserved_volume_attachments is not None and version >= RESERVED_ATTACHMENTS_SINCE:
        args.append(f"--reserved-volume-attachments={options.reserved_volume_attachments}")
    if version >= METADATA_SOURCES_SINCE:
        # Nomad has no Kubernetes API to fall back on: a failure should name IMDS at once.
        args.append("--metadata-sources=imds")
    return [*args, *for_role(options.extra_args, CONTROLLER_ONLY)]


DRIVER = CsiDriver(
    name="ebs",
    provider="ebs.csi.aws.com",
    image="public.ecr.aws/ebs-csi-driver/aws-ebs-csi-driver",
    default_version="v1.48.0",
    command="aws-ebs-csi-driver",
    roles={
        # Controllers only call an API, so they need no privileges.
        "controller": PluginTask(controller_args),
        "node": PluginTask(node_args, privileged=True),
    },
    own_flags=OWN_FLAGS,
    topology_keys=("topology.ebs.csi.aws.com/zone", "topology.kubernetes.io/zone"),
    # The driver attaches for multi-node-multi-writer too (Multi-Attach: block devices, io1 and io2); nothing here
    # makes such volumes or waits for their last attachment.
    access_modes=frozenset({"single-node-writer"}),
    attachment_modes=frozenset({"file-system", "block-device"}),
    fs_types=frozenset({"ext4", "ext3", "xfs"}),
    default_fs_type="ext4",
    zonal=True,
    controllers=2,
    metrics=True,
    backend="ebs",
)
