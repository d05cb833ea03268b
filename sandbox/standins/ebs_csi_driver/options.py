"""The driver's command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from sandbox.standins.csi import flags
from sandbox.standins.csi.flags import FlagError, FlagSet
from sandbox.standins.ebs_csi_driver.tags import TagError, check_extra_tags

PROGRAM: Final = "aws-ebs-csi-driver"
DEFAULT_ENDPOINT: Final = "unix://tmp/csi.sock"


class Mode(Enum):
    """Which gRPC services the process offers besides identity."""

    CONTROLLER = "controller"
    NODE = "node"
    ALL = "all"

    @property
    def is_controller(self) -> bool:
        """Whether it serves csi.v1.Controller."""
        return self is not Mode.NODE

    @property
    def is_node(self) -> bool:
        """Whether it serves csi.v1.Node."""
        return self is not Mode.CONTROLLER


@dataclass(frozen=True)
class Options:
    """A valid command line."""

    mode: Mode
    endpoint: str
    http_endpoint: str
    verbosity: int
    extra_tags: Mapping[str, str]
    volume_attach_limit: int
    reserved_volume_attachments: int


_SERVER_FLAGS: Final = [
    flags.string("endpoint", DEFAULT_ENDPOINT, "Endpoint for the CSI driver server"),
    flags.string(
        "http-endpoint", "", "TCP address where the HTTP server for metrics listens, :8080; empty: no such server"
    ),
    flags.strings("metadata-sources", ("imds",), "Where instance metadata comes from; only imds is supported"),
    flags.boolean("logtostderr", "Log to standard error, which it always does", default=True),
    flags.integer("v", 0, "Number for the log level verbosity"),
]
_CONTROLLER_FLAGS: Final = [
    flags.mapping("extra-tags", "Extra tags for each volume and snapshot the driver makes: k=v,k=v"),
]
_NODE_FLAGS: Final = [
    flags.integer("volume-attach-limit", -1, "Volumes attachable to this node; -1: by its instance type"),
    flags.integer(
        "reserved-volume-attachments", -1, "Attachments reserved for the system; -1: as IMDS reports at boot"
    ),
]


def flag_set(mode: Mode) -> FlagSet:
    """The flags of a mode: as upstream, a node knows no controller flag and the other way round."""
    known = list(_SERVER_FLAGS)
    if mode.is_controller:
        known += _CONTROLLER_FLAGS
    if mode.is_node:
        known += _NODE_FLAGS
    return FlagSet(PROGRAM, known)


def split_mode(arguments: Sequence[str]) -> tuple[Mode, list[str]]:
    """The mode, which is the first argument where that is no flag (default: all), and the rest; raises FlagError."""
    if not arguments or arguments[0].startswith("-"):
        return Mode.ALL, list(arguments)
    try:
        return Mode(arguments[0]), list(arguments[1:])
    except ValueError:
        expected = ", ".join(mode.value for mode in Mode)
        raise FlagError(f"Unknown driver mode {arguments[0]}: Expected one of {expected}") from None


def parse_options(mode: Mode, arguments: Sequence[str]) -> Options:
    """Reads and checks a mode's flags; raises FlagError with the flag, its value and what would do instead."""
    values = flag_set(mode).parse(arguments)
    options = Options(
        mode=mode,
        endpoint=values["endpoint"],
        http_endpoint=values["http-endpoint"],
        verbosity=values["v"],
        extra_tags=values.get("extra-tags", {}),
        volume_attach_limit=values.get("volume-attach-limit", -1),
        reserved_volume_attachments=values.get("reserved-volume-attachments", -1),
    )
    _check(options, values)
    return options


def _check(options: Options, values: Mapping[str, Any]) -> None:
    if options.volume_attach_limit != -1 and options.reserved_volume_attachments != -1:
        raise FlagError("only one of --volume-attach-limit and --reserved-volume-attachments may be specified")
    for source in values["metadata-sources"]:
        if source != "imds":
            raise FlagError(
                f"--metadata-sources names {source!r}: only 'imds' is supported, for there is no Kubernetes to ask. "
                "Write --metadata-sources=imds or leave the flag out"
            )
    try:
        check_extra_tags(options.extra_tags)
    except TagError as error:
        raise FlagError(f"invalid extra tags: {error}") from None
