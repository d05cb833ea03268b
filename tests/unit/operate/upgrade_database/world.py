"""A stack with MySQL on a volume: settings, Nomad's job, the server and EC2's snapshots, as an upgrade sees them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pymysql

from nomad_stateful.ebs.snapshots import Snapshot
from nomad_stateful.ebs.tags import FIRST, MOVE_TAG
from nomad_stateful.errors import ProviderError
from nomad_stateful.operate.engine import Change, EngineError, StackLockedError

JOB, VOLUME = "mysql-server", "mysql"
BEFORE, AFTER = "mysql:8.4.4", "mysql:9.7.4"
BEGUN = datetime(2026, 11, 22, tzinfo=UTC)
_FIRST = {MOVE_TAG: FIRST}
_ENDPOINT = {"ID": "a1", "NodeID": "n1", "NodeName": "client-1"}


@dataclass
class World:
    """What is, and what was done."""

    config: dict[str, Any] = field(
        default_factory=lambda: {
            "nomad-stateful:mysql": {"volume": VOLUME, "image": BEFORE, "taskDriver": "docker"},
            "nomad-stateful:volumes": [{"name": VOLUME, "zone": "us-west-2a", "sizeGib": 1}],
        }
    )
    registered: list[str] = field(default_factory=lambda: [BEFORE])
    """Images by the job's versions."""
    runs: str = "8.4.4"
    """The version that answers; "" if none does."""
    files: str = "8.4.4"
    """The version that wrote the data directory."""
    tables: set[str] = field(default_factory=lambda: {"shop.orders"})
    has: dict[str, list[str]] = field(default_factory=dict)
    """Rows of statements by a word in them."""
    locked: bool = False
    runs_of_jobs: list[dict[str, Any]] = field(default_factory=list)
    """What Nomad lists as jobs."""
    snapshots: list[Snapshot] = field(default_factory=list)
    taken: int = 0
    other_changes: str = ""
    ops: str = "update"
    new_server: str = "comes up"
    """Or: is refused by pulumi; is not pulled; is pulled at last (while its job is stopped); ends; is slow."""
    stopped: bool = False
    """Whether the job is stopped."""
    other_pulumi: str = ""
    """The step after which another pulumi has the stack's lock."""
    session_ends: bool = False
    """Whether the session that holds the writes ends while the snapshot is copied."""
    snapshot_fails: str = ""
    """Which snapshot EC2 gives up while it copies."""
    dies_at: str = ""
    """The beginning of the step at whose end the command is killed."""
    done: list[str] = field(default_factory=list)

    def step(self, what: str) -> None:
        self.done.append(what)
        if self.dies_at and what.startswith(self.dies_at):
            self.dies_at = ""
            raise KeyboardInterrupt

    @property
    def image(self) -> str:
        return str(self.config["nomad-stateful:mysql"]["image"])

    @property
    def untouched(self) -> bool:
        """Whether the server, its settings and its job are those of before, and writes go on."""
        return (self.runs, self.image, self.registered, self.locked) == ("8.4.4", BEFORE, [BEFORE], False)

    def start(self, image: str) -> None:
        """Starts a server on the files; an older one does not start on a newer one's."""
        version = image.rpartition(":")[2]
        if self.files > version:
            self.runs = ""
            raise AssertionError(f"{version} was started on the files of {self.files}")
        self.runs = self.files = version


class FakeEngine:
    """Pulumi, as far as it is asked."""

    def __init__(self, world: World) -> None:
        self.world = world

    def config(self) -> dict[str, Any]:
        return self.world.config

    def pending(self) -> str:
        return self.world.other_changes

    def changes(self, values: dict[str, str]) -> list[Change]:
        del values
        inputs = {"jobspec": f'id = "{JOB}"', "hcl2": {"vars": {}}}
        return [Change(self.world.ops, "nomad:index/job:Job", "mysql-job", inputs)]

    def refuse_locked(self) -> None:
        if self.world.other_pulumi and self.world.done[-1:] == [self.world.other_pulumi]:
            raise StackLockedError("the stack is locked by ci@runner (pid 1)")

    def set(self, values: dict[str, str]) -> None:
        for path, value in values.items():
            self.world.config["nomad-stateful:mysql"][path.rpartition(".")[2]] = value
        self.world.step(f"sets {self.world.image}")

    def up(self, why: str, *, refresh: bool) -> None:
        del why, refresh
        self.refuse_locked()
        world, wanted = self.world, self.world.image
        if wanted == AFTER and world.new_server == "is refused by pulumi":
            raise EngineError("`pulumi up` failed")
        if world.registered[-1] != wanted:
            world.registered.append(wanted)
            # Nomad stops the one before, whose sessions end with it.
            world.runs, world.locked = "", False
            world.step("registered")
        if wanted == AFTER and world.new_server != "comes up":
            if world.new_server in ("ends", "is slow"):
                world.files = "9.7.4"
            self.world.step("up fails")
            raise EngineError("`pulumi up` failed")
        world.start(wanted)
        world.step("up")


class FakeNomad:
    """Nomad, as far as it is asked."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.address = "http://nomad"

    def close(self) -> None:
        """Nothing to close."""

    def get(self, path: str, **_: Any) -> Any:
        if path == "jobs":
            return self.world.runs_of_jobs
        if path.endswith("/versions"):
            listed = enumerate(self.world.registered)
            return {"Versions": [{"Version": number, **_job(image)} for number, image in reversed(list(listed))]}
        if path.startswith("allocation/"):
            port = {"Label": "db", "HostIP": "10.0.0.1", "Value": 3306}
            return {"AllocatedResources": {"Shared": {"Ports": [port]}}}
        assert path.endswith("/allocations"), path
        return [self._allocation()]

    def find(self, path: str, **_: Any) -> Any:
        if path.startswith("allocation/"):
            return self._allocation()
        return _job(self.world.registered[-1]) if path == f"job/{JOB}" else None

    def delete(self, path: str, **_: Any) -> Any:
        assert path == f"job/{JOB}", path
        self.world.stopped = True
        if self.world.new_server == "is pulled at last":
            self.world.files = "9.7.4"
        return {"JobModifyIndex": 7}

    def put(self, path: str, body: Any, **_: Any) -> Any:
        if path == "jobs/parse":
            return {"ID": JOB, **_job(AFTER)}
        assert path == f"job/{JOB}/revert", path
        assert self.world.stopped
        self.world.stopped = False
        self.world.registered.append(self.world.registered[body["JobVersion"]])
        self.world.start(self.world.registered[-1])
        self.world.step("reverted")
        return {}

    def _allocation(self) -> dict[str, Any]:
        world = self.world
        new = world.registered[-1] == AFTER
        pulled = not new or (world.new_server == "is pulled at last" and world.stopped)
        pulled = pulled or world.new_server not in ("is not pulled", "is pulled at last")
        failing = new and world.new_server == "ends"
        state = {
            "State": "running" if pulled and not failing else "pending",
            "StartedAt": "2026-11-23T10:00:00Z" if pulled else "0001-01-01T00:00:00Z",
            "Restarts": 3 if failing else 0,
            "Events": [{"DisplayMessage": "Failed to pull" if not pulled else "Exit Code: 1"}],
        }
        runs = "running" if pulled and not failing else "pending"
        base = {
            "TaskGroup": "mysql",
            "DesiredStatus": "run",
            "ClientStatus": "complete" if world.stopped else runs,
            "CreateIndex": len(world.registered),
        }
        return {**_ENDPOINT, **base, "JobVersion": len(world.registered) - 1, "TaskStates": {"mysql": state}}


class FakeDatabase:
    """The server, as far as it is asked."""

    errors = (pymysql.err.MySQLError,)
    holds_writes = True

    def __init__(self, world: World) -> None:
        self.world = world

    def ask(self, _at: Any, statement: str) -> list[tuple[Any, ...]]:
        world = self.world
        if not world.runs:
            raise pymysql.err.OperationalError(2003, "refused")
        if "VERSION()" in statement:
            return [(f"{world.runs}-1",)]
        if "information_schema.tables" in statement:
            return [(name,) for name in sorted(world.tables)]
        return [(row,) for word, rows in world.has.items() if word in statement for row in rows]

    @contextlib.contextmanager
    def read_only(self, _at: Any) -> Iterator[Callable[[], None]]:
        self.world.locked = True

        def refuse_ended() -> None:
            if self.world.session_ends:
                raise pymysql.err.OperationalError(2013, "Lost connection")

        try:
            yield refuse_ended
        finally:
            self.world.locked = False


class FakeSnapshots:
    """EC2, as far as it is asked."""

    needs_lock = True

    def __init__(self, world: World, refuse: Callable[[], None] = lambda: None) -> None:
        self.world = world
        self.refuse_unpermitted = refuse

    def begin(self, _text: str, mark: dict[str, str]) -> str:
        locked = mark != _FIRST and self.needs_lock
        assert self.world.locked == locked, "the last snapshot is taken while no row is acknowledged, the first not"
        made = f"snap-{self.world.taken}"
        self.world.taken += 1
        self.world.snapshots.append(Snapshot(made, "vol-1", "pending", BEGUN, tags=mark))
        return made

    def await_complete(self, snapshot_id: str, _timeout_s: float, _remedy: str) -> None:
        [found] = [one for one in self.world.snapshots if one.id == snapshot_id]
        self._forget(snapshot_id)
        if self.world.snapshot_fails == snapshot_id:
            self.world.snapshots.append(replace(found, state="error"))
            raise ProviderError(f"snapshot {snapshot_id} failed: KMS")
        self.world.snapshots.append(replace(found, state="completed"))
        self.world.step("first snapshot" if found.tags == _FIRST else "snapshot")

    def drop(self, snapshot_id: str) -> None:
        [dropped] = [one for one in self.world.snapshots if one.id == snapshot_id]
        assert dropped.tags == _FIRST, "a deployer's key deletes no other snapshot"
        self._forget(snapshot_id)

    def _forget(self, snapshot_id: str) -> None:
        self.world.snapshots = [one for one in self.world.snapshots if one.id != snapshot_id]

    def newest(self, key: str) -> Snapshot | None:
        marked = [one for one in self.world.snapshots if one.is_complete and key in one.tags]
        return marked[-1] if marked else None


def _job(image: str) -> dict[str, Any]:
    task = {"Name": "mysql", "Driver": "docker", "Config": {"image": image}}
    return {"TaskGroups": [{"Name": "mysql", "Tasks": [task]}]}


def arguments(**given: Any) -> SimpleNamespace:
    """What the command line would give."""
    known = {"version": "9.7.4", "image": "", "timeout": 1.0, "probe_timeout": 1.0, "snapshot_timeout": 1.0}
    return SimpleNamespace(**{**known, "dry_run": False, "yes": True, "json": True, **given})
