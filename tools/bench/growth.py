"""What `tools.bench.scale` measured: how commands grow with the number of volumes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

COMMANDS = ("up", "preview", "destroy")


@dataclass(frozen=True)
class Measured:
    """One command on a stack of one size."""

    volumes: int
    consumers: int
    command: str
    seconds: float
    cpu_s: float
    """Of the command and everything it started."""
    engine_mib: int
    """Peak resident memory of the engine."""
    program_mib: int
    aws_plugin_mib: int
    nomad_plugin_mib: int
    own_plugin_mib: int
    nomad_requests: int
    """By the command's processes; blocking queries are counted each time they return."""
    aws_requests: int
    language_host_mib: int = 0
    """As of everything below, 0 where it was not measured."""
    resources: int = 0
    """In the state after the command."""
    state_bytes: int = 0
    """Of the exported state."""

    @property
    def mib(self) -> dict[str, int]:
        """Peak resident memory of each process, each at its own moment."""
        return {
            "engine": self.engine_mib,
            "language host": self.language_host_mib,
            "program": self.program_mib,
            "aws plugin": self.aws_plugin_mib,
            "nomad plugin": self.nomad_plugin_mib,
            "nomad-csi plugin": self.own_plugin_mib,
        }


def of_command(measured: Iterable[Measured], command: str) -> list[Measured]:
    """What was measured of one command."""
    return [one for one in measured if one.command == command]


def fit(measured: Sequence[Measured]) -> tuple[float, float]:
    """Exponent and factor of seconds = factor * volumes ** exponent, by least squares; nan for a single size."""
    points = [(math.log(one.volumes), math.log(one.seconds)) for one in measured]
    mean_x, mean_y = (sum(values) / len(points) for values in zip(*points, strict=True))
    across = sum((x - mean_x) ** 2 for x, _ in points)
    if not across:
        return math.nan, math.nan
    exponent = sum((x - mean_x) * (y - mean_y) for x, y in points) / across
    return exponent, math.exp(mean_y - exponent * mean_x)
