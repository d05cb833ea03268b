"""A file system that fills up under MySQL, and the two ways on: room is made, or the volume is grown."""

from __future__ import annotations

import contextlib
import random

import pymysql

from nomad_stateful.nomad.running_job import Endpoint
from tools.faults.lane import Lane
from tools.faults.model import Fault
from tools.faults.stack_settings import StackSettings
from tools.trial.kernel import may_grow_mounted_ext4
from tools.trial.running import ended_well

_BLOB_MIB = 4
# What MySQL says of a full disk: the device is full, or the table is. Where InnoDB cannot go on it ends, and
# the connection with it; it starts again on what it has acknowledged.
_FULL = (1021, 1114, 2006, 2013)


def _mount_point(lane: Lane, client: str) -> str:
    mounts = lane.inside(client, "cat", "/proc/mounts").stdout
    points = [line.split()[1] for line in mounts.splitlines() if "/staging/" in line and "/mysql/" in line]
    assert points, f"no volume of MySQL is mounted on {client}"
    return points[0]


def _fill(lane: Lane, at: Endpoint) -> str:
    """Fills the file system from outside but for a few MiB, the rest through MySQL; the path of what fills it."""
    filler = f"{_mount_point(lane, at.node_name)}/filler"
    script = 'fallocate --length "$(($(stat --file-system --format "%a * %S" "$(dirname "$1")") - 6291456))" "$1"'
    ended_well(lane.inside(at.node_name, "sh", "-c", script, "fill", filler))
    return filler


def _write_until_full(lane: Lane, at: Endpoint) -> int:
    """Has MySQL write large rows until it refuses one for want of room; the error it gave."""
    password = lane.stack.outputs()["mysqlPassword"]
    with contextlib.closing(
        pymysql.connect(
            host=at.host,
            port=at.port,
            user="root",
            password=password,
            autocommit=True,
            connect_timeout=5,
            read_timeout=60,
        )
    ) as connection:
        cursor = connection.cursor()
        cursor.execute("CREATE DATABASE IF NOT EXISTS bulk")
        cursor.execute("CREATE TABLE IF NOT EXISTS bulk.blobs (body LONGBLOB)")
        for _ in range(64):
            try:
                cursor.execute("INSERT INTO bulk.blobs VALUES (REPEAT('x', %s))", (_BLOB_MIB << 20,))
            except pymysql.err.MySQLError as error:
                code = int(error.args[0])
                if code not in _FULL:
                    raise AssertionError(f"a full disk gave {error}") from error
                return code
    raise AssertionError(f"MySQL wrote {64 * _BLOB_MIB} MiB into a file system that is full")


def _said(code: int) -> str:
    return f"MySQL ended ({code})" if code in (2006, 2013) else f"MySQL refused rows ({code})"


def _go_on(lane: Lane) -> None:
    """Drops what filled the disk through MySQL, and waits for writes of others."""
    at = lane.stack.mysql_endpoint()
    lane.stack.sql(at, "DROP DATABASE IF EXISTS bulk")
    ended_well(lane.up())
    lane.await_writes()


def _full_then_freed(lane: Lane, _draw: random.Random) -> str:
    at = lane.stack.mysql_endpoint()
    filler = _fill(lane, at)
    try:
        code = _write_until_full(lane, at)
        lane.injected()
    finally:
        lane.inside(at.node_name, "rm", "--force", filler)
    _go_on(lane)
    return f"{_said(code)}; room was made, and it went on"


def _full_then_grown(lane: Lane, _draw: random.Random) -> str:
    """Grows the volume by one number, once: EC2 changes a volume again only hours later."""
    settings = StackSettings.read(lane.stack_file)
    volume = settings.volume(settings.mysql["volume"])
    if volume["sizeGib"] > 1:
        return f"left out: the volume was grown to {volume['sizeGib']} GiB before. {_full_then_freed(lane, _draw)}"
    at = lane.stack.mysql_endpoint()
    filler = _fill(lane, at)
    code = _write_until_full(lane, at)
    lane.injected()
    volume["sizeGib"] += 1
    settings.write(lane.stack_file)
    ended_well(lane.up())
    lane.await_writes()
    now = lane.stack.mysql_endpoint()
    lane.stack.sql(now, "INSERT INTO bulk.blobs VALUES (REPEAT('x', 4194304))")
    lane.inside(now.node_name, "rm", "--force", filler)
    _go_on(lane)
    return f"{_said(code)}; grown to {volume['sizeGib']} GiB, it went on"


def _cannot_grow() -> str:
    return "" if may_grow_mounted_ext4() else "no process of this machine may grow a mounted ext4 (docs/volumes.md)"


FAULTS = (
    Fault("full disk, then room is made", "disk", _full_then_freed, seconds=25),
    Fault("full disk, then the volume is grown", "disk", _full_then_grown, cannot=_cannot_grow, seconds=35),
)
