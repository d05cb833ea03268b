"""A file system that fills up under the database, and the two ways on: room is made, or the volume is grown."""

from __future__ import annotations

import contextlib
import random
import re

from nomad_stateful.nomad.running_job import Endpoint
from tools.faults.lane import HEALTH_TIMEOUT_S, Lane, addresses, settings_of
from tools.faults.model import Fault
from tools.faults.stack_settings import StackSettings
from tools.trial.kernel import may_grow_mounted_ext4
from tools.trial.running import ended_well, eventually

_BLOB_MIB = 4
_FILLER = "filler"
# What servers say of a full disk: the device is full, or the table is. Where one cannot go on it ends, and the
# connection with it; it starts again on what it has acknowledged.
_FULL = {"mysql": ("1021", "1114", ""), "postgres": ("53100", "")}


def mount_point(lane: Lane, client: str) -> str:
    """Where a client has staged the database's volume."""
    points = _mount_points(lane, client)
    assert points, f"no volume of {lane.server.title} is mounted on {client}"
    return points[0]


def _mount_points(lane: Lane, client: str) -> list[str]:
    mounts = lane.inside(client, "cat", "/proc/mounts").stdout
    # A volume of a set has its number behind the name.
    staged = re.compile(rf"/staging/.*/{lane.server.volume}(\[\d+\])?/")
    return [line.split()[1] for line in mounts.splitlines() if staged.search(line)]


def _fill(lane: Lane, at: Endpoint) -> None:
    """Fills the file system from outside but for a few MiB; the rest is filled through the database."""
    filler = f"{mount_point(lane, at.node_name)}/{_FILLER}"
    script = 'fallocate --length "$(($(stat --file-system --format "%a * %S" "$(dirname "$1")") - 6291456))" "$1"'
    ended_well(lane.inside(at.node_name, "sh", "-c", script, "fill", filler))


def make_room(lane: Lane, timeout_s: float = HEALTH_TIMEOUT_S) -> None:
    """Removes what filled the volume, on the client that has it by now: what happens at the same time may move it."""
    clients = addresses(settings_of(lane.stack))

    def removed() -> bool | None:
        found = [(client, f"{point}/{_FILLER}") for client in clients for point in _mount_points(lane, client)]
        return 0 in [lane.inside(client, "rm", filler).returncode for client, filler in found] or None

    what = "room is made on the full volume"
    with lane.waits(what, timeout_s):
        eventually(removed, timeout_s, what, lane.stack.diagnosis)


def _write_until_full(lane: Lane, at: Endpoint) -> str:
    """Has the database write large rows until it refuses one for want of room; what it said to that."""
    server = lane.server
    password = lane.stack.outputs()[f"{server.name}Password"]
    with contextlib.closing(server.login(at.host, at.port, password, 60, autocommit=True)) as connection:
        cursor = connection.cursor()
        try:
            cursor.execute("CREATE SCHEMA IF NOT EXISTS bulk")
            # A group takes no table without a key.
            cursor.execute(
                f"CREATE TABLE IF NOT EXISTS bulk.blobs (number SERIAL PRIMARY KEY, body {lane.sql.large_rows})"
            )
            for _ in range(64):
                cursor.execute("INSERT INTO bulk.blobs (body) VALUES (REPEAT('x', %s))", (_BLOB_MIB << 20,))
        except server.errors as error:
            code = server.code(error)
            if code not in _FULL[server.name]:
                raise AssertionError(f"a full disk gave {error}") from error
            return f"{server.title} {f'refused rows ({code})' if code else 'ended'}"
    raise AssertionError(f"{server.title} wrote {64 * _BLOB_MIB} MiB into a file system that is full")


def _go_on(lane: Lane) -> None:
    """Drops what filled the disk through the database, and waits for writes of others."""
    # Of a group it may be another member that goes on.
    lane.await_writes()
    at = lane.stack.server_endpoint()
    lane.stack.sql(at, lane.sql.drop_schema.format("bulk"))
    ended_well(lane.up())
    lane.await_writes()


def _full_then_freed(lane: Lane, _draw: random.Random) -> str:
    at = lane.stack.server_endpoint()
    _fill(lane, at)
    try:
        said = _write_until_full(lane, at)
        lane.injected()
    finally:
        make_room(lane)
    _go_on(lane)
    return f"{said}; room was made, and it went on"


def _full_then_grown(lane: Lane, _draw: random.Random) -> str:
    """Grows the volume by one number, once: EC2 changes a volume again only hours later."""
    settings = StackSettings.read(lane.stack_file)
    volume = settings.volume(settings.database["volume"])
    if volume["sizeGib"] > 1:
        return f"left out: the volume was grown to {volume['sizeGib']} GiB before. {_full_then_freed(lane, _draw)}"
    at = lane.stack.server_endpoint()
    _fill(lane, at)
    said = _write_until_full(lane, at)
    lane.injected()
    volume["sizeGib"] += 1
    settings.write(lane.stack_file)
    ended_well(lane.up())
    lane.await_writes()
    now = lane.stack.server_endpoint()
    lane.stack.sql(now, "INSERT INTO bulk.blobs (body) VALUES (REPEAT('x', 4194304))")
    make_room(lane)
    _go_on(lane)
    return f"{said}; grown to {volume['sizeGib']} GiB, it went on"


def _cannot_grow() -> str:
    return "" if may_grow_mounted_ext4() else "no process of this machine may grow a mounted ext4 (docs/volumes.md)"


FAULTS = (
    Fault("full disk, then room is made", "disk", _full_then_freed, seconds=25),
    Fault("full disk, then the volume is grown", "disk", _full_then_grown, cannot=_cannot_grow, alone=True, seconds=35),
)
