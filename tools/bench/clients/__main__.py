"""`python -m tools.bench.clients`: drains, notices and a rolling replacement of all clients, under a writer.

A sandbox of its own (root is needed), with a writer on its MySQL and the faults' watch on its mounts. Fails when an
acknowledged row is missing, a volume is detached while it is mounted, or two instances have one mounted.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Final

from nomad_stateful.nomad import clients
from tools.bench import page
from tools.bench.clients import driver
from tools.bench.clients.pause import Pauses
from tools.bench.clients.results import Measured, table, write
from tools.faults.cases.instance import restore
from tools.faults.lane import CLIENTS, Lane, open_lane
from tools.faults.runner import bring
from tools.trial.call_record import Calls, detached_while_mounted
from tools.trial.ground import claim
from tools.trial.instances import instance_of
from tools.trial.running import eventually

TIMEOUT_S: Final = 300.0
LIFECYCLE_S: Final = 600
"""How long an autoscaling group waits for an instance that it replaces; it ends as soon as the volumes are off."""


def operate(lane: Lane, *words: str) -> CompletedProcess[str]:
    """`python -m operate …`, which has to succeed."""
    done = lane.stack.run(lane.stack.python, "-m", "operate", *words, timeout_s=2 * TIMEOUT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def _drain(lane: Lane) -> float:
    at = lane.stack.mysql_endpoint()
    operate(lane, "drain", at.node_name, "--yes")
    assert lane.stack.mysql_endpoint().node_name != at.node_name
    operate(lane, "drain", at.node_name, "--undo", "--yes")
    return -1.0


def _tell(lane: Lane, client: str, kind: str, in_s: int) -> None:
    words = ("notice", client, kind, "--in", str(in_s))
    done = lane.stack.run(lane.stack.python, "-m", "sandbox.cloud.ctl", *words)
    assert done.returncode == 0, done.stderr


def _await_released(lane: Lane, client: str, instance_id: str) -> float:
    """Seconds until the instance has no volume but its own, and Nomad runs nothing but plugins there."""
    began = time.monotonic()

    def released() -> bool | None:
        filters = [{"Name": "attachment.instance-id", "Values": [instance_id]}]
        attached = lane.stack.ec2.describe_volumes(Filters=filters)["Volumes"]
        data = [one for one in attached if one["Attachments"][0]["Device"] != "/dev/sda1"]
        nodes = [one for one in clients.listed(lane.stack.nomad) if one.name == client and one.status == "ready"]
        leaving = all(one.state == "ineligible" for one in nodes)
        return True if leaving and not data else None

    eventually(released, TIMEOUT_S, f"{client} has let go of its volumes", lane.stack.diagnosis)
    return time.monotonic() - began


def _spot(lane: Lane) -> float:
    """EC2 takes the instance two minutes after the notice, whether it has let go or not."""
    client = lane.stack.mysql_endpoint().node_name
    instance_id = instance_of(lane.stack, client)
    _tell(lane, client, "spot", 120)
    released_s = _await_released(lane, client, instance_id)
    lane.stack.ec2.get_waiter("instance_terminated").wait(
        InstanceIds=[instance_id], WaiterConfig={"Delay": 1, "MaxAttempts": 180}
    )
    restore(lane)
    return released_s


def _roll(lane: Lane) -> float:
    """An instance refresh: each client is told, lets go, is terminated, and replaced by a new one."""
    slowest = 0.0
    for client in CLIENTS:
        instance_id = instance_of(lane.stack, client)
        _tell(lane, client, "lifecycle", LIFECYCLE_S)
        slowest = max(slowest, _await_released(lane, client, instance_id))
        lane.stack.ec2.terminate_instances(InstanceIds=[instance_id])
        restore(lane)
        assert instance_of(lane.stack, client) != instance_id
    return slowest


def _reboot(lane: Lane) -> float:
    client = lane.stack.mysql_endpoint().node_name
    lane.stack.ec2.reboot_instances(InstanceIds=[instance_of(lane.stack, client)])
    eventually(
        lambda: lane.stack.mysql_endpoint(timeout_s=TIMEOUT_S).node_name != client or None, TIMEOUT_S, "MySQL elsewhere"
    )
    eventually(
        lambda: any(one.name == client and one.takes_work for one in clients.listed(lane.stack.nomad)) or None,
        TIMEOUT_S,
        f"{client} is back and eligible",
    )
    lane.await_plugins()
    return -1.0


THINGS: Final[dict[str, Callable[[Lane], float]]] = {
    "drain": _drain,
    "reboot": _reboot,
    "spot": _spot,
    "roll": _roll,
    "upgrade": driver.upgrade,
    "rollback": driver.rollback,
}
_TOLD: Final = {
    "drain": "`operate drain` of MySQL's client, and `--undo`",
    "reboot": "reboot of MySQL's client",
    "spot": "spot interruption of MySQL's client, two minutes after its notice",
    "roll": "rolling replacement of all three clients",
    "upgrade": "`operate upgrade-driver`, on three clients",
    "rollback": "`operate upgrade-driver` to a version that does not start on one client: rolled back",
}


def measure(lane: Lane, name: str) -> Measured:
    """Does one thing, from the stack in order to the stack in order."""
    lane.await_writes()
    calls, doubled, before = Calls(lane.call_log), len(lane.mounts.violations), lane.writer.total
    pauses, began = Pauses(lane.writer), time.monotonic()
    pauses.begin()
    try:
        released_s = THINGS[name](lane)
        lane.await_writes()
        took_s = time.monotonic() - began
    finally:
        longest_s = pauses.end()
    return Measured(
        _TOLD[name],
        took_s,
        longest_s,
        lane.writer.total - before,
        len(lane.writer.lost()),
        len(detached_while_mounted(calls.read())),
        len(lane.mounts.violations) - doubled,
        released_s,
    )


def run(names: list[str], folder: Path) -> list[Measured]:
    """Measures one after the other on one sandbox, and writes after each."""
    measured: list[Measured] = []
    with (
        tempfile.TemporaryDirectory(prefix="nomad-stateful-clients-") as home,
        open_lane(0, claim(), Path(home)) as lane,
    ):
        bring(lane, "deployed")
        for name in names:
            measured.append(measure(lane, name))
            print(measured[-1], file=sys.stderr, flush=True)
            write(folder, measured)
        assert lane.mounts.seen, "the watch on the mounts saw no volume mounted"
    return measured


def main() -> int:
    """1 when something was lost."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.clients", description=__doc__)
    parser.add_argument("--things", nargs="+", choices=list(THINGS), default=list(THINGS))
    parser.add_argument("--results", type=Path, default=page.RESULTS)
    known = parser.parse_args()
    # So that an end by a signal takes the sandbox down too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    measured = run(known.things, known.results)
    print(table(measured))
    return int(any(one.lost or one.detached_while_mounted or one.second_writers for one in measured))


if __name__ == "__main__":
    sys.exit(main())
