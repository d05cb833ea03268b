"""csi-driver-host-path: folders of one client, for tests. A volume can be reached from its client only.

https://github.com/kubernetes-csi/csi-driver-host-path
"""

from nomad_stateful.drivers.model import CsiDriver, DriverOptions, HostMount, PluginTask

DATA_FOLDER = "/csi-data-dir"


def monolith_args(options: DriverOptions) -> list[str]:
    """Returns the command line of a monolith plugin."""
    return [
        f"--drivername={options.plugin_id}",
        f"--v={options.log_level}",
        f"--endpoint={options.endpoint}",
        # Allocations of a system job all have the index 0; only the client's id differs.
        "--nodeid=${node.unique.id}",
        f"--statedir={DATA_FOLDER}",
        *options.extra_args,
    ]


DRIVER = CsiDriver(
    name="hostpath",
    provider="",
    image="registry.k8s.io/sig-storage/hostpathplugin",
    default_version="v1.9.0",
    command="hostpathplugin",
    roles={
        "monolith": PluginTask(
            monolith_args,
            privileged=True,
            host_mounts=(HostMount("/var/lib/csi-hostpath-data", DATA_FOLDER),),
        )
    },
    own_flags={
        "endpoint": "endpoint",
        "v": "logLevel",
        "drivername": "id",
        "nodeid": "",
        "statedir": "",
        "version": "",
    },
    topology_keys=("topology.hostpath.csi/node",),
    access_modes=frozenset({"single-node-writer", "single-node-reader-only"}),
    attachment_modes=frozenset({"file-system"}),
    controllers=1,
)
