"""The calls to AWS that the sandbox recorded, and those among them that a database could lose its data by."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

_OTHER: Final = "InvalidAttachment.NotFound"
"""Error of a DetachVolume that is about another attachment than the one that there is."""


@dataclass
class Calls:
    """The calls to AWS since this was made."""

    log: Path
    start: int = field(init=False)

    def __post_init__(self) -> None:
        self.start = self.log.stat().st_size

    def read(self) -> list[dict[str, Any]]:
        """Each call as the daemon recorded it."""
        return calls_of(self.log, self.start)

    def struck(self) -> list[dict[str, Any]]:
        """Those that a fault struck."""
        return [call for call in self.read() if call.get("fault")]


def calls_of(log: Path, start: int = 0) -> list[dict[str, Any]]:
    """Each call in a record, from a byte of it on."""
    with log.open("rb") as file:
        file.seek(start)
        # The last line may still be written.
        whole = file.read().rpartition(b"\n")[0]
    return [json.loads(line) for line in whole.splitlines()]


def detached_while_mounted(calls: Iterable[Mapping[str, Any]]) -> list[str]:
    """Each attachment that EC2 was asked to end while its volume was mounted: once, with who asked first and when.

    EC2 may refuse that as busy or may do it; then the volume is gone under whatever writes to it.
    """
    found: dict[tuple[str, str], str] = {}
    for call in calls:
        if not call.get("mounted") or call["error"] == _OTHER:
            continue
        volume, instance = call["params"].get("VolumeId", ""), call["params"].get("InstanceId", "its instance")
        forced = ", by force" if call["params"].get("Force") == "true" else ""
        found.setdefault(
            (volume, instance),
            f"{call['time']}: {call['caller'] or 'somebody'} detached {volume} from {instance}{forced} while it was "
            f"mounted at {', '.join(call['mounted'])}",
        )
    return list(found.values())
