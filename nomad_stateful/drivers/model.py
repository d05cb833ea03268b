"""The description of a CSI driver."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

Version = tuple[int, int, int]
Role = Literal["controller", "node", "monolith"]

NOMAD_ENDPOINT = "${CSI_ENDPOINT}"
"""The socket that a plugin listens on, set by Nomad."""

ENDPOINT_VARIABLE = {"CSI_ENDPOINT": "endpoint"}
"""The environment variable for it, and the setting that decides it."""

SHARED_ACCESS_MODES = frozenset(
    {
        "single-node-writer",
        "single-node-reader-only",
        "multi-node-reader-only",
        "multi-node-single-writer",
        "multi-node-multi-writer",
    }
)
"""Access modes of a volume that any number of clients may mount at once."""


@dataclass(frozen=True)
class DriverOptions:
    """A stack's choices for a driver; ``None`` leaves one to the driver."""

    plugin_id: str
    version: str
    endpoint: str = NOMAD_ENDPOINT
    log_level: int = 2
    extra_tags: Mapping[str, str] = field(default_factory=dict)
    volume_attach_limit: int | None = None
    reserved_volume_attachments: int | None = None
    extra_args: tuple[str, ...] = ()
    metrics_address: str = ""
    """Where the driver serves its metrics, as HOST:PORT; empty: nowhere."""


@dataclass(frozen=True)
class HostMount:
    """A folder of the client that is mounted in a plugin's container."""

    source: str
    target: str


@dataclass(frozen=True)
class ConfigProblem:
    """Why a driver's configuration cannot be used; never quotes a value, which may be a credential."""

    rule: str
    remedy: str


@dataclass(frozen=True)
class NetworkShare:
    """A share of an NFS server that must be mounted at a path before a driver starts."""

    server: str
    share: str
    path: str


@dataclass(frozen=True)
class PluginTask:
    """How one role of a driver runs."""

    args: Callable[[DriverOptions], list[str]]
    privileged: bool = False
    network_mode: str = ""
    """Docker's network mode; empty is Docker's default."""
    ipc_mode: str = ""
    host_mounts: tuple[HostMount, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CsiDriver:
    """A CSI driver: its image, its roles and their command lines by version, and what its volumes can do."""

    name: str
    """Its name in the settings, e.g. ``ebs``."""
    provider: str
    """The name the driver reports, e.g. ``ebs.csi.aws.com``; empty when the plugin id is reported."""
    image: str
    """Image repository, without a tag."""
    default_version: str
    command: str
    """The program's usual name."""
    roles: Mapping[Role, PluginTask]
    topology_keys: tuple[str, ...]
    """Topology keys of where a volume can be reached, the preferred one first; empty: from everywhere."""
    access_modes: frozenset[str]
    attachment_modes: frozenset[str]
    fs_types: frozenset[str] = frozenset()
    """File systems that it formats and mounts; empty: any."""
    own_flags: Mapping[str, str] = field(default_factory=dict)
    """Flags that the program sets, or with which the driver exits; with the setting that decides each, if any."""
    own_env: Mapping[str, str] = field(default_factory=dict)
    """Environment variables that Nomad or the program sets; with the setting that decides each, if any."""
    default_fs_type: str = ""
    """File system of volumes that name none, where the driver formats them."""
    zonal: bool = False
    """Whether a volume can be reached from clients of its zone only."""
    controllers: int = 0
    """Controllers by default."""
    mount_dir: str = "/csi"
    config_file: bool = False
    """Whether the driver reads a configuration file, which may hold credentials."""
    config_problem: Callable[[str], ConfigProblem | None] | None = None
    """Returns what is wrong with the text of a configuration file."""
    controller_share: Callable[[str], NetworkShare | None] | None = None
    """Returns the share that the controller needs mounted, by the text of a configuration file."""
    image_command: str = ""
    """The program in the image, if something has to run before it."""
    metrics: bool = False
    """Whether it can serve metrics of its own."""
    backend: Literal["ebs", "none"] = "none"
    """The storage, if a detachment can be watched outside Nomad too."""

    @property
    def node_role(self) -> Role:
        """The role that mounts volumes."""
        return "monolith" if "monolith" in self.roles else "node"


CONFIG_FILE = "${NOMAD_SECRETS_DIR}/driver-config-file.yaml"
"""Path of a driver's configuration file, in a folder that is kept in memory."""


def parse_version(version: str) -> Version:
    """Returns ``v1.48.0`` as ``(1, 48, 0)``. Raises ValueError for anything that is not three numbers."""
    match = re.fullmatch(r"v?(\d+)\.(\d+)\.(\d+)", version)
    if not match:
        raise ValueError(f"not a version: {version!r}")
    return (int(match[1]), int(match[2]), int(match[3]))
