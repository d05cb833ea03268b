"""Where a command is killed: as soon as its output has a line."""

from __future__ import annotations

import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.faults.cases.engine import COMMAND, ENGINE, kill

_TIMEOUT_S: Final = 600.0


@dataclass(frozen=True)
class Point:
    """Who is killed, and at which line."""

    who: str
    line: str
    """A pattern."""
    told: str
    """The moment, in words."""


_LET_GO: Final = (
    r"VolumeGuard ebs-mysql-guard updated .*~moveTo\]",
    "the volume is being released (by its guard, first)",
)
MOVE: Final = (
    Point(COMMAND, r"pulumi up: lets", "before the first update"),
    Point(COMMAND, r"a first snapshot", "the first snapshot"),
    Point(COMMAND, r"stopping job", "MySQL is being stopped"),
    Point(COMMAND, r"the last snapshot", "the last snapshot"),
    Point(COMMAND, r"aws:ebs:Volume ebs-mysql-\S+ creating", "the new volume is being made"),
    Point(ENGINE, *_LET_GO),
    Point(ENGINE, r"aws:ebs:Volume ebs-mysql-\S+ creating", "the new volume is being made"),
    Point(ENGINE, r"VolumeRelease \S+ deleted original", "the release is over"),
    Point(ENGINE, r"CsiVolumeRegistration \S+ creating replacement", "it is being registered"),
    Point(ENGINE, r"JobHealth \S+ updating", "MySQL is being started"),
)
FAILOVER: Final = (
    Point(COMMAND, r"pulumi up: lets", "before the first update"),
    Point(COMMAND, *_LET_GO),
    Point(COMMAND, r"stopping job", "MySQL's job is being stopped"),
    Point(COMMAND, r"pulumi up: makes", "before the second update"),
    Point(COMMAND, r"CsiVolumeRegistration \S+ deleting original", "the old registration is being removed"),
    *MOVE[5:],
)


def strike(process: subprocess.Popen[bytes], log: Path, point: Point) -> bool:
    """Kills when the line is there; whether it came before the command ended. AssertionError after ten minutes."""
    deadline, pattern = time.monotonic() + _TIMEOUT_S, re.compile(point.line)
    while time.monotonic() < deadline:
        if pattern.search(log.read_text(encoding="utf-8", errors="replace")):
            kill(process.pid, point.who)
            process.wait(_TIMEOUT_S)
            return True
        if process.poll() is not None:
            return False
        time.sleep(0.02)
    raise AssertionError(f"after {_TIMEOUT_S:.0f} s there is no line {point.line}:\n{log.read_text()[-3000:]}")
