"""The driver's command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sandbox.standins.csi import flags
from sandbox.standins.csi.flags import FlagSet

DRIVER_NAME: Final = "efs.csi.aws.com"
DRIVER_VERSION: Final = "v3.5.0"
"""The upstream release whose behaviour this driver follows."""


@dataclass(frozen=True)
class Options:
    """A valid command line."""

    endpoint: str
    verbosity: int
    vol_metrics: bool


FLAGS: Final = FlagSet(
    "aws-efs-csi-driver",
    [
        flags.string("endpoint", "unix://tmp/csi.sock", "CSI Endpoint"),
        flags.boolean("logtostderr", "Log to standard error, which it always does", default=True),
        flags.integer("v", 0, "Number for the log level verbosity"),
        flags.boolean("vol-metrics-opt-in", "Opt in to emit volume metrics"),
    ],
)


def parse(arguments: Sequence[str]) -> Options:
    """Reads and checks the flags; raises FlagError."""
    values = FLAGS.parse(arguments)
    return Options(endpoint=values["endpoint"], verbosity=values["v"], vol_metrics=values["vol-metrics-opt-in"])
