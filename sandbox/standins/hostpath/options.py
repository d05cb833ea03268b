"""The driver's command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sandbox.standins.csi import flags
from sandbox.standins.csi.flags import FlagError, FlagSet

VERSION: Final = "v1.9.0"
"""The upstream release whose command line this driver has."""


@dataclass(frozen=True)
class Options:
    """A valid command line."""

    driver_name: str
    endpoint: str
    node_id: str
    state_dir: str
    verbosity: int


FLAGS: Final = FlagSet(
    "hostpathplugin",
    [
        flags.string("drivername", "hostpath.csi.k8s.io", "name of the driver"),
        flags.string("endpoint", "unix://tmp/csi.sock", "CSI endpoint"),
        flags.string("nodeid", "", "node id"),
        flags.string("statedir", "/csi-data-dir", "directory for volumes, snapshots and the list of them"),
        flags.integer("v", 0, "number for the log level verbosity"),
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
    )
    for name, value in (("drivername", options.driver_name), ("nodeid", options.node_id)):
        if not value:
            raise FlagError(f"no --{name} provided: it says who this is. Write --{name}=NAME")
    if not options.state_dir.startswith("/"):
        raise FlagError(f"--statedir is {options.state_dir!r}: an absolute path is needed")
    return options
