"""The shape in which a CSI driver is described."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

Version = tuple[int, int, int]


@dataclass(frozen=True)
class DriverOptions:
    """What a stack chooses about a driver; ``None`` means "leave it to the driver"."""

    version: str
    log_level: int = 5
    extra_tags: dict[str, str] = field(default_factory=dict)
    volume_attach_limit: int | None = None
    reserved_volume_attachments: int | None = None
    extra_args: tuple[str, ...] = ()


@dataclass(frozen=True)
class CsiDriver:
    """A CSI driver: its image, its shape, and its command line by version."""

    name: str
    """The name the driver reports, e.g. ``ebs.csi.aws.com``."""
    image: str
    """Image repository, without a tag."""
    default_version: str
    has_controller: bool
    topology_keys: tuple[str, ...]
    """Topology keys that carry a zone, the preferred one first; empty when volumes are not bound to a zone."""
    access_modes: frozenset[str]
    attachment_modes: frozenset[str]
    controller_args: Callable[[DriverOptions], list[str]]
    node_args: Callable[[DriverOptions], list[str]]


def parse_version(version: str) -> Version:
    """``v1.48.0`` as ``(1, 48, 0)``; raises ValueError for anything that is not three numbers."""
    match = re.fullmatch(r"v?(\d+)\.(\d+)\.(\d+)", version)
    if not match:
        raise ValueError(f"not a version: {version!r}")
    return (int(match[1]), int(match[2]), int(match[3]))
