"""What EC2 tells an instance before it takes it away: spot interruptions, instance refreshes, recommendations."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, Literal, get_args

from sandbox.machine.private_files import write_private
from sandbox.settings import SandboxError, SandboxSettings, usage

Kind = Literal["spot", "lifecycle", "rebalance"]
KINDS: Final[tuple[str, ...]] = get_args(Kind)
SPOT_S: Final = 120
"""How long before its interruption a spot instance is told."""


@dataclass(frozen=True)
class Notice:
    """A notice in force. spot and lifecycle: the instance is terminated at `at` (UTC, as AWS writes it)."""

    instance_id: str
    kind: str
    at: str

    def metadata(self) -> dict[str, str]:
        """What the metadata service answers, by path below meta-data."""
        if self.kind == "spot":
            action = json.dumps({"action": "terminate", "time": self.at})
            return {"spot/instance-action": action, "spot/termination-time": self.at}
        if self.kind == "lifecycle":
            return {"autoscaling/target-lifecycle-state": "Terminated"}
        return {"events/recommendations/rebalance": json.dumps({"noticeTime": self.at})}


def notice_file(settings: SandboxSettings) -> Path:
    """Where the notices in force are: a file that goes with the daemon."""
    return settings.home / "ec2" / "notices.json"


def read(path: Path) -> list[Notice]:
    """The notices in force."""
    try:
        return [Notice(**item) for item in json.loads(path.read_text(encoding="utf-8"))]
    except FileNotFoundError:
        return []


def give(settings: SandboxSettings, instance_id: str, kind: str, in_s: int = SPOT_S) -> Notice:
    """Puts a notice in force, in place of those that the instance has.

    Raises:
        SandboxError: it cannot be, with the reason.
    """
    path = notice_file(settings)
    if not path.parent.is_dir():
        raise SandboxError(f"the cloud is not running: `{usage.PROGRAM} up` starts it")
    if kind not in KINDS or in_s < 1:
        raise SandboxError(f"{kind} in {in_s} s is no notice: use one of {', '.join(KINDS)}, in at least 1 s")
    at = datetime.now(UTC) + timedelta(seconds=0 if kind == "rebalance" else in_s)
    notice = Notice(instance_id, kind, at.strftime("%Y-%m-%dT%H:%M:%SZ"))
    _write(path, [*(one for one in read(path) if one.instance_id != instance_id), notice])
    return notice


def take_back(settings: SandboxSettings, instance_id: str) -> None:
    """Takes an instance's notices out of force."""
    path = notice_file(settings)
    _write(path, [one for one in read(path) if one.instance_id != instance_id])


def _write(path: Path, notices: list[Notice]) -> None:
    write_private(path, json.dumps([asdict(one) for one in notices]))


def carry_out(path: Path, terminate: Callable[[str], None], now: datetime | None = None) -> list[str]:
    """Terminates the instances whose time has come, once; their ids."""
    moment = now or datetime.now(UTC)
    notices = read(path)
    ended = [one for one in notices if one.kind != "rebalance" and datetime.fromisoformat(one.at) <= moment]
    if ended:
        _write(path, [one for one in notices if one not in ended])
    for one in ended:
        terminate(one.instance_id)
    return [one.instance_id for one in ended]
