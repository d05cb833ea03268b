"""The driver's command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sandbox.standins.csi import flags
from sandbox.standins.csi.flags import FlagError, FlagSet

VERSION: Final = "1.9.5"
"""The upstream release whose behaviour this driver follows."""

CSI_VERSIONS: Final = ("0.2.0", "0.3.0", *(f"1.{minor}.0" for minor in range(10)))
MODES: Final = ("controller", "node")
_LEVELS: Final = {"error": 0, "warn": 0, "info": 2, "verbose": 4, "debug": 5, "silly": 5}


@dataclass(frozen=True)
class Options:
    """A valid command line."""

    csi_version: str
    csi_name: str
    config_file: str
    modes: tuple[str, ...]
    endpoint: str
    verbosity: int

    @property
    def knows_multi_writer(self) -> bool:
        """Whether its version of the protocol tells one writer on a node from several."""
        return tuple(map(int, self.csi_version.split("."))) >= (1, 5, 0)


FLAGS: Final = FlagSet(
    "democratic-csi",
    [
        flags.string("driver-config-file", "", "provide a path to driver config file"),
        flags.string("log-level", "info", f"log level: {', '.join(_LEVELS)}"),
        flags.string("csi-version", "1.9.0", "versions of the csi spec supported by the server"),
        flags.string("csi-name", "", "name used in registrations, such as org.democratic-csi.nfs"),
        flags.repeated("csi-mode", MODES, "mode of the driver: controller, node; may be given twice"),
        flags.string("server-socket", "", "listen socket for the server"),
    ],
)


def parse(arguments: Sequence[str]) -> Options:
    """Reads and checks the flags; raises FlagError."""
    values = FLAGS.parse(arguments)
    _check(values)
    socket = values["server-socket"]
    return Options(
        csi_version=values["csi-version"],
        csi_name=values["csi-name"],
        config_file=values["driver-config-file"],
        modes=tuple(dict.fromkeys(values["csi-mode"])),
        endpoint=socket if "://" in socket else f"unix://{socket}",
        verbosity=_LEVELS[values["log-level"]],
    )


def _check(values: Mapping[str, Any]) -> None:
    for name in ("driver-config-file", "csi-name"):
        if not values[name]:
            raise FlagError(f"Missing required argument: {name}")
    choices = {"csi-version": CSI_VERSIONS, "log-level": tuple(_LEVELS)}
    for name, allowed in choices.items():
        if values[name] not in allowed:
            raise FlagError(f"Invalid values: {name}, Given: {values[name]!r}, Choices: {', '.join(allowed)}")
    for mode in values["csi-mode"]:
        if mode not in MODES:
            raise FlagError(f"Invalid values: csi-mode, Given: {mode!r}, Choices: {', '.join(MODES)}")
    if not values["server-socket"]:
        raise FlagError("must listen on tcp and/or unix socket: write --server-socket=PATH")
