"""The wait for an EBS snapshot, whose contents are fixed long before EC2 has copied them."""

from __future__ import annotations

from typing import Any

from operate.cluster import wait_for
from operate.errors import OperateError

_POLL_S = 0.5


def await_complete(ec2: Any, snapshot_id: str, timeout_s: float, remedy: str, failed: type[OperateError]) -> None:
    """Waits until EC2 has copied the whole snapshot, and says how much it has.

    Raises `failed` where EC2 gives it up, TimedOutError with the remedy, and botocore's errors.
    """
    copied = "0%"

    def probe() -> bool | None:
        nonlocal copied
        found = ec2.describe_snapshots(SnapshotIds=[snapshot_id])["Snapshots"][0]
        if found["State"] == "error":
            why = found.get("StateMessage") or "EC2 gives no reason"
            raise failed(f"snapshot {snapshot_id} failed: {why}. Run the same command again: it takes another")
        copied = found.get("Progress") or copied
        return True if found["State"] == "completed" else None

    wait_for(lambda: f"snapshot {snapshot_id} is complete ({copied} copied)", probe, timeout_s, remedy, _POLL_S)
