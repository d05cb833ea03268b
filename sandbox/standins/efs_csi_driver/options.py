"""The driver's command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sandbox.standins.csi import flags
from sandbox.standins.csi.flags import FlagError, FlagSet

DRIVER_NAME: Final = "efs.csi.aws.com"
DRIVER_VERSION: Final = "v3.5.0"
"""The upstream release whose behaviour this driver follows."""


@dataclass(frozen=True)
class Options:
    """A valid command line; what belongs to provisioning is accepted, and without effect here."""

    endpoint: str
    verbosity: int
    show_version: bool
    vol_metrics: bool
    volume_attach_limit: int


FLAGS: Final = FlagSet(
    "aws-efs-csi-driver",
    [
        flags.string("endpoint", "unix://tmp/csi.sock", "CSI Endpoint"),
        flags.boolean("logtostderr", "Log to standard error, which it always does", default=True, deprecated=True),
        flags.integer("v", 0, "Number for the log level verbosity"),
        flags.boolean("version", "Print the version and exit"),
        flags.boolean("vol-metrics-opt-in", "Opt in to emit volume metrics"),
        flags.integer("vol-metrics-refresh-period", 240, "Refresh period for volume metrics in minutes"),
        flags.integer("vol-metrics-fs-rate-limit", 5, "Volume metrics routines rate limiter per file system"),
        flags.boolean("delete-access-point-root-dir", "Delete access point root directory by DeleteVolume"),
        flags.string("tags", "", "Space separated key:value pairs which will be added as tags for EFS resources"),
        flags.integer("volume-attach-limit", 0, "Maximum number of volumes per node; 0: no limit"),
        flags.string("efs-utils-config-dir-path", "/var/amazon/efs", "Preferred path for the efs-utils config"),
        flags.string("efs-utils-config-legacy-dir-path", "/etc/amazon/efs-legacy", "Path to the old efs-utils config"),
        flags.string("efs-utils-static-files-path", "/etc/amazon/efs-static-files/", "Path to efs-utils static files"),
    ],
)


def parse(arguments: Sequence[str]) -> Options:
    """Reads and checks the flags; raises FlagError."""
    values = FLAGS.parse(arguments)
    for name in ("volume-attach-limit", "vol-metrics-refresh-period", "vol-metrics-fs-rate-limit"):
        if values[name] < 0:
            raise FlagError(f"--{name} is {values[name]}: it cannot be negative")
    for pair in filter(None, values["tags"].split(" ")):
        if ":" not in pair:
            raise FlagError(f"--tags has {pair!r}: write pairs as KEY:VALUE, separated by blanks")
    return Options(
        endpoint=values["endpoint"],
        verbosity=values["v"],
        show_version=values["version"],
        vol_metrics=values["vol-metrics-opt-in"],
        volume_attach_limit=values["volume-attach-limit"],
    )
