"""The shape in which a CSI driver is described."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

Version = tuple[int, int, int]
Role = Literal["controller", "node", "monolith"]

NOMAD_ENDPOINT = "${CSI_ENDPOINT}"
"""What Nomad tells a plugin to listen on."""

ENDPOINT_VARIABLE = {"CSI_ENDPOINT": "endpoint"}
"""The variable by which Nomad tells it, and the setting that decides it."""

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
    """What a stack chooses about a driver; ``None`` means "leave it to the driver"."""

    plugin_id: str
    version: str
    endpoint: str = NOMAD_ENDPOINT
    log_level: int = 2
    extra_tags: Mapping[str, str] = field(default_factory=dict)
    volume_attach_limit: int | None = None
    reserved_volume_attachments: int | None = None
    extra_args: tuple[str, ...] = ()


@dataclass(frozen=True)
class HostMount:
    """A folder of the client that a plugin's container sees."""

    source: str
    target: str


@dataclass(frozen=True)
class ConfigProblem:
    """Why a driver's configuration cannot be used, without any value of it: it may hold credentials."""

    rule: str
    remedy: str


@dataclass(frozen=True)
class NetworkShare:
    """A share of an NFS server that is to be mounted at a path before a driver starts."""

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
    """How settings name it, e.g. ``ebs``."""
    provider: str
    """The name the driver reports, e.g. ``ebs.csi.aws.com``; empty when the plugin id is reported."""
    image: str
    """Image repository, without a tag."""
    default_version: str
    command: str
    """The program's usual name, for task drivers without images."""
    roles: Mapping[Role, PluginTask]
    topology_keys: tuple[str, ...]
    """Topology keys that carry where a volume can be reached, the preferred one first; empty: from everywhere."""
    access_modes: frozenset[str]
    attachment_modes: frozenset[str]
    fs_types: frozenset[str] = frozenset()
    """File systems that it formats and mounts; empty: whatever a volume asks for."""
    own_flags: Mapping[str, str] = field(default_factory=dict)
    """Flags that the program gives, or that end the driver at start; and the setting that decides each, if any."""
    own_env: Mapping[str, str] = field(default_factory=dict)
    """Variables by which Nomad and the program reach the driver; and the setting that decides each, if any."""
    default_fs_type: str = ""
    """File system of volumes that ask for none, where the driver formats them."""
    zonal: bool = False
    """Whether a volume can be reached from clients of its zone only."""
    controllers: int = 0
    """Controllers by default."""
    mount_dir: str = "/csi"
    config_file: bool = False
    """Whether the driver reads a configuration file, which may hold credentials."""
    config_problem: Callable[[str], ConfigProblem | None] | None = None
    """What is wrong with the text of a configuration file."""
    controller_share: Callable[[str], NetworkShare | None] | None = None
    """The share that the text of a configuration file has the controller find mounted."""
    image_command: str = ""
    """The program inside the image, where the preset puts something before it."""
    backend: Literal["ebs", "none"] = "none"
    """What holds the data, where a release can be watched from outside Nomad too."""

    @property
    def node_role(self) -> Role:
        """The role that mounts volumes."""
        return "monolith" if "monolith" in self.roles else "node"


CONFIG_FILE = "${NOMAD_SECRETS_DIR}/driver-config-file.yaml"
"""Where a driver's configuration file is put: a folder that is kept in memory."""


def parse_version(version: str) -> Version:
    """``v1.48.0`` as ``(1, 48, 0)``; raises ValueError for anything that is not three numbers."""
    match = re.fullmatch(r"v?(\d+)\.(\d+)\.(\d+)", version)
    if not match:
        raise ValueError(f"not a version: {version!r}")
    return (int(match[1]), int(match[2]), int(match[3]))
