"""aws-efs-csi-driver: file systems of a region, mounted by any number of clients.

Existing file systems and access points need no controller.
Arguments: https://github.com/kubernetes-sigs/aws-efs-csi-driver
"""

from nomad_stateful.drivers.model import SHARED_ACCESS_MODES, CsiDriver, DriverOptions, HostMount, PluginTask

# State of the mounts' TLS tunnels: without these folders on the client, mounts hang after a restart of the plugin.
# https://github.com/kubernetes-sigs/aws-efs-csi-driver/issues/183
STATE_FOLDERS = ("/var/run/efs", "/var/amazon/efs", "/etc/amazon/efs")


def node_args(options: DriverOptions) -> list[str]:
    """Returns the command line of a node plugin."""
    return [f"--endpoint={options.endpoint}", "--logtostderr", f"--v={options.log_level}", *options.extra_args]


DRIVER = CsiDriver(
    name="efs",
    provider="efs.csi.aws.com",
    image="public.ecr.aws/efs-csi-driver/amazon/aws-efs-csi-driver",
    default_version="v3.5.0",
    command="aws-efs-csi-driver",
    roles={
        "node": PluginTask(
            node_args,
            privileged=True,
            network_mode="host",
            host_mounts=tuple(HostMount(folder, folder) for folder in STATE_FOLDERS),
        )
    },
    own_flags={"endpoint": "endpoint", "v": "logLevel", "logtostderr": "", "version": ""},
    topology_keys=(),
    access_modes=SHARED_ACCESS_MODES,
    attachment_modes=frozenset({"file-system"}),
)
