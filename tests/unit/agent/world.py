"""A server that writes binary logs as MySQL does, and the copier of them, with moto's S3."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from botocore import handlers
from botocore.exceptions import ClientError, ConnectionClosedError

from nomad_stateful.agent.copies.copier import Copier
from nomad_stateful.agent.server import ServerError, State
from nomad_stateful.databases.mysql.archive import FOLDER, UNTIL, Facts, Until, log_name
from nomad_stateful.databases.mysql.binlog import contents
from nomad_stateful.databases.mysql.gtids import Gtid, GtidSet, GtidSetBuilder, Origin
from nomad_stateful.ebs.bucket import Bucket
from nomad_stateful.operate.point_in_time import logs
from nomad_stateful.operate.point_in_time.replay import Replay, replay
from tests.providers.moto_account import REGION, clients, empty_account
from tests.unit.databases.mysql.test_binlog import before, event, gtid, log, rotated, stopped

START = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)
UUID = uuid.UUID("3e11fa47-71ca-11e1-9e33-c80aa9429562")
BUCKET, PREFIX = "logs", "db/"
PLACE = PREFIX + FOLDER


def up_to(number: int) -> GtidSet:
    """The first so many transactions of the server."""
    return GtidSet.parse(f"{UUID}:1-{number}")


def names(*numbers: int) -> list[str]:
    """The server's names of its logs."""
    return [f"binlog.{number:06d}" for number in numbers]


def client_of(account: str) -> Any:
    """A client of moto's S3."""
    client = clients(account).s3
    # moto does not say that it is ready for a body, for which a client waits a second.
    client.meta.events.unregister("before-call.s3.PutObject", handlers.add_expect_header)
    client.meta.events.unregister("before-call.s3.UploadPart", handlers.add_expect_header)
    return client


def emptied(client: Any) -> Any:
    """The client, whose account has an empty bucket and nothing else."""
    empty_account()
    client.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
    return client


@contextmanager
def fault(client: Any, verb: str, *, until: bool = False, done: bool = False) -> Iterator[None]:
    """While it lasts, S3 refuses a request of logs, or of `until`; or it does what is asked, and the answer is lost."""

    def before(params: Mapping[str, Any], context: dict[str, Any], **_: Any) -> None:
        context["lost"] = done
        if params.get("Key", "").endswith(UNTIL) != until:
            context["lost"] = False
        elif not done:
            raise ClientError({"Error": {"Code": "SlowDown"}}, verb)

    def after(context: Mapping[str, Any], **_: Any) -> None:
        if context["lost"]:
            raise ConnectionClosedError(endpoint_url="s3")

    hooks = {f"before-parameter-build.s3.{verb}": before, f"after-call.s3.{verb}": after}
    for event_name, hook in hooks.items():
        client.meta.events.register(event_name, hook)
    try:
        yield
    finally:
        for event_name, hook in hooks.items():
            client.meta.events.unregister(event_name, hook)


@dataclass
class FakeServer:
    """Commits transactions into logs, a second after another."""

    datadir: Path
    uuid: uuid.UUID = UUID
    now: datetime = START
    executed: GtidSet = field(default_factory=GtidSet)
    wrong: dict[str, str] = field(default_factory=dict)
    away: bool = False
    number: int = 0
    group: Origin | None = None
    """Whose transactions it commits, where it is a member."""
    is_secondary: bool = False
    unlogged: GtidSet = field(default_factory=GtidSet)
    """What it has and never logged."""

    def start(self) -> None:
        """Begins a log, as every start does."""
        self.datadir.mkdir(exist_ok=True)
        self._begin(started=True)

    def tick(self, seconds: float = 1) -> datetime:
        self.now += timedelta(seconds=seconds)
        return self.now

    def commit(self, number: int | None = None) -> int:
        """Commits the next transaction, or one of a number; returns its number."""
        number = number or len(self.executed) + 1
        return self.take(number, self.tick())

    def take(self, number: int, at: datetime, *, replicated: bool = False) -> int:
        """Commits a transaction of that time, which another member may have committed first."""
        origin = self.group or Origin(self.uuid)
        self.executed |= GtidSetBuilder([Gtid(origin, number)]).build()
        self._append(gtid(number, at, source=origin.source, replicated=replicated))
        return number

    def rows(self, size: int) -> None:
        """Writes rows of so many bytes, which are part of the last transaction."""
        self._append(event(30, bytes(size)))

    def anonymous(self) -> None:
        """Commits a transaction without a GTID, as before gtid_mode was set."""
        self._append(event(34, at=self.tick()))

    def close_log(self) -> None:
        if self.away:
            raise ServerError("no server")
        self._append(rotated(self.tick()))
        self._begin()

    def stop(self, *, kill: bool = False) -> None:
        if not kill:
            self._append(stopped(self.tick()))

    def state(self) -> State:
        if self.away:
            raise ServerError("no server")
        return State(str(self.uuid), str(self.executed), dict(self.wrong), self.is_secondary)

    def purge(self, *numbers: int, unlisted: bool = True) -> None:
        """Removes logs, of which the server knows unless only their files are gone."""
        for number in numbers:
            self.path(number).unlink(missing_ok=True)
        if unlisted:
            self._list([one for one in self.listed() if one not in numbers])

    def path(self, number: int) -> Path:
        return self.datadir / f"binlog.{number:06d}"

    def listed(self) -> list[int]:
        return [int(line[-6:]) for line in (self.datadir / "binlog.index").read_text().split()]

    def reset(self, to: int = 1) -> None:
        """As RESET BINARY LOGS AND GTIDS TO a number does."""
        self.purge(*self.listed())
        self.executed, self.number = GtidSet(), to - 1
        self._begin(started=True)

    def _begin(self, *, started: bool = False) -> None:
        self.number += 1
        had = before(*self._sources())
        self.path(self.number).write_bytes(log(had, started=started, at=self.tick()).getvalue())
        index = self.datadir / "binlog.index"
        self._list([*(self.listed() if index.exists() else []), self.number])

    def _sources(self) -> list[Any]:
        spans: dict[uuid.UUID, list[tuple[int, int]]] = {}
        for part in filter(None, str(self.executed - self.unlogged).split(",")):
            source, *numbers = part.split(":")
            for one in numbers:
                first, _, last = one.partition("-")
                spans.setdefault(uuid.UUID(source), []).append((int(first), int(last or first) + 1))
        return list(spans.items())

    def _list(self, numbers: list[int]) -> None:
        (self.datadir / "binlog.index").write_text("".join(f"./binlog.{number:06d}\n" for number in numbers))

    def _append(self, event: bytes) -> None:
        with self.path(self.number).open("ab") as open_log:
            open_log.write(event)


@dataclass
class World:
    """A server, and what copies its logs."""

    server: FakeServer
    s3: Any
    allocation: str = "one"
    member: str = ""

    def __post_init__(self) -> None:
        self.restart()

    def restart(self, allocation: str = "") -> None:
        """Begins the copier anew."""
        self.allocation = allocation or self.allocation
        bucket = Bucket(self.s3, BUCKET)
        self.copier = Copier(self.server, self.server.datadir, bucket, PLACE, self.allocation, member=self.member)

    def round(self) -> Until:
        """Has the copier work once."""
        return self.copier.round(self.server.tick())

    def commits(self, *counts: int) -> Until:
        """A round after each of so many transactions."""
        for count in counts:
            for _ in range(count):
                self.server.commit()
            said = self.round()
        return said

    @property
    def until(self) -> Until | None:
        found = Bucket(self.s3, BUCKET).read(PLACE + UNTIL)
        return Until.parse(found.text) if found else None

    def remove_until(self) -> None:
        self.s3.delete_object(Bucket=BUCKET, Key=PLACE + UNTIL)

    def key(self, number: int) -> str:
        """Where a log of the server belongs."""
        path = self.server.path(number)
        with path.open("rb") as log:
            return PLACE + log_name(contents(path.name, log)[0].began, path.name, self.member)

    def put(self, key: str, content: bytes) -> None:
        """Has another one write there."""
        self.s3.put_object(Bucket=BUCKET, Key=key, Body=content)

    def body(self, key: str) -> bytes:
        """What is in S3."""
        return bytes(self.s3.get_object(Bucket=BUCKET, Key=key)["Body"].read())

    def sizes(self) -> dict[str, int]:
        """Sizes of the logs in S3 by their keys."""
        found = Bucket(self.s3, BUCKET).list(PLACE)
        return {key: one.size for key, one in found.items() if not key.endswith(UNTIL)}

    def facts(self, key: str) -> Facts | None:
        """What the metadata of a log in S3 say of it; None where they say nothing."""
        return Facts.of_metadata(self.s3.head_object(Bucket=BUCKET, Key=key)["Metadata"])

    def stored(self) -> list[str]:
        """Names of the logs in S3."""
        return sorted(key.removeprefix(PLACE).partition("-")[2] for key in self.sizes())

    def restored(self, base: datetime, to: datetime) -> Replay:
        """What a restore to that time takes."""
        return replay(logs.stored(Bucket(self.s3, BUCKET), PREFIX), base, to)
