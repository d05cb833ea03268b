"""The driver's command line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sandbox.standins.csi import flags
from sandbox.standins.csi.flags import FlagError, FlagSet

VERSION: Final = "v1.9.0"
"""The upstream release whose command line this driver has."""

_UNITS: Final = {"": 1, "Ki": 1024, "Mi": 1024**2, "Gi": 1024**3, "Ti": 1024**4}


@dataclass(frozen=True)
class Options:
    """A valid command line."""

    driver_name: str
    endpoint: str
    node_id: str
    state_dir: str
    verbosity: int
    show_version: bool
    max_volumes_per_node: int
    capacity_bytes: int
    """Room for all volumes together; 0: what the file system has."""
    enable_attach: bool
    enable_topology: bool
    enable_expansion: bool
    node_expand_required: bool


FLAGS: Final = FlagSet(
    "hostpathplugin",
    [
        flags.string("drivername", "hostpath.csi.k8s.io", "name of the driver"),
        flags.string("endpoint", "unix://tmp/csi.sock", "CSI endpoint"),
        flags.string("nodeid", "", "node id"),
        flags.string("statedir", "/csi-data-dir", "directory for volumes, snapshots and the list of them"),
        flags.integer("v", 0, "number for the log level verbosity"),
        flags.boolean("logtostderr", "log to standard error, which it always does", default=True),
        flags.boolean("version", "Show version."),
        flags.integer("maxvolumespernode", 0, "limit of volumes per node; 0: none"),
        flags.integer("attach-limit", 0, "limit of attachable volumes per node; 0: none"),
        flags.mapping("capacity", "capacity of a kind of storage, KIND=QUANTITY; default: what the file system has"),
        flags.boolean("enable-attach", "Enables RPC_PUBLISH_UNPUBLISH_VOLUME capability."),
        flags.boolean("enable-topology", "Enables VOLUME_ACCESSIBILITY_CONSTRAINTS", default=True),
        flags.boolean("enable-volume-expansion", "Enables volume expansion", default=True),
        flags.boolean("node-expand-required", "Expansion needs a call on the node", default=True),
    ],
)


def parse(arguments: Sequence[str]) -> Options:
    """Reads and checks the flags; raises FlagError."""
    values = FLAGS.parse(arguments)
    options = Options(
        driver_name=values["drivername"],
        endpoint=values["endpoint"],
        node_id=values["nodeid"],
        state_dir=values["statedir"],
        verbosity=values["v"],
        show_version=values["version"],
        max_volumes_per_node=values["attach-limit"] or values["maxvolumespernode"],
        capacity_bytes=sum(_bytes(kind, text) for kind, text in values["capacity"].items()),
        enable_attach=values["enable-attach"],
        enable_topology=values["enable-topology"],
        enable_expansion=values["enable-volume-expansion"],
        node_expand_required=values["node-expand-required"],
    )
    if not options.show_version:
        _check(options)
    return options


def _check(options: Options) -> None:
    for name, value in (("drivername", options.driver_name), ("nodeid", options.node_id)):
        if not value:
            raise FlagError(f"no --{name} provided: it says who this is. Write --{name}=NAME")
    if not options.state_dir.startswith("/"):
        raise FlagError(f"--statedir is {options.state_dir!r}: an absolute path is needed")
    if options.max_volumes_per_node < 0:
        raise FlagError(f"--maxvolumespernode is {options.max_volumes_per_node}: it cannot be negative")


def _bytes(kind: str, text: str) -> int:
    match = re.fullmatch(r"(\d+)(\w*)", text)
    if not match or match[2] not in _UNITS:
        raise FlagError(f'invalid argument "{kind}={text}" for "--capacity" flag: use a quantity such as 100Gi')
    return int(match[1]) * _UNITS[match[2]]
