"""democratic-csi with NFS: directories or ZFS datasets of a file server, mounted by any number of clients.

https://github.com/democratic-csi/democratic-csi/blob/master/docs/nomad.md
"""

from collections.abc import Callable

from nomad_stateful.drivers.democratic_csi_config import config_problem, controller_share
from nomad_stateful.drivers.model import CONFIG_FILE, SHARED_ACCESS_MODES, CsiDriver, DriverOptions, PluginTask

CSI_VERSION = "1.5.0"


def _args(mode: str) -> Callable[[DriverOptions], list[str]]:
    def args(options: DriverOptions) -> list[str]:
        return [
            f"--csi-version={CSI_VERSION}",
            # Nomad compares it with the plugin's id.
            f"--csi-name={options.plugin_id}",
            f"--driver-config-file={CONFIG_FILE}",
            "--log-level=info",
            f"--csi-mode={mode}",
            f"--server-socket={options.endpoint}",
            *options.extra_args,
        ]

    return args


DRIVER = CsiDriver(
    name="democratic-csi",
    provider="",
    image="democraticcsi/democratic-csi",
    default_version="v1.9.5",
    command="democratic-csi",
    roles={
        # nfs-client makes folders in its share, which is mounted in the controller's container.
        "controller": PluginTask(_args("controller"), privileged=True),
        "node": PluginTask(
            _args("node"),
            privileged=True,
            network_mode="host",
            ipc_mode="host",
            env={"CSI_NODE_ID": "${attr.unique.hostname}"},
        ),
    },
    own_flags={
        "csi-name": "id",
        "driver-config-file": "config",
        "server-socket": "endpoint",
        **dict.fromkeys(
            ("csi-version", "csi-mode", "log-level", "server-address", "server-port", "help", "version"), ""
        ),
    },
    own_env={"CSI_NODE_ID": ""},
    topology_keys=(),
    access_modes=SHARED_ACCESS_MODES,
    attachment_modes=frozenset({"file-system"}),
    controllers=2,
    config_file=True,
    config_problem=config_problem,
    controller_share=controller_share,
    image_command="bin/democratic-csi",
)
