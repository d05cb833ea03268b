"""Which binary logs lead from a snapshot to a point in time."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from nomad_stateful.databases.mysql.gtids import GtidSet
from nomad_stateful.ebs.bucket import Bucket
from nomad_stateful.operate.point_in_time import logs
from nomad_stateful.operate.point_in_time import replay as replays
from nomad_stateful.operate.point_in_time.logs import Log, PointInTimeError
from tests.unit.databases.mysql.test_binlog import SOURCE, before, event, gtid, rotated
from tests.unit.databases.mysql.test_binlog import log as content

START = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)


def at(minutes: float) -> datetime:
    return START + timedelta(minutes=minutes)


def one(number: int, minutes: float, size: int = 100) -> Log:
    name = f"binlog.{number:06d}"
    return Log(f"dev/binlogs/{at(minutes):%Y%m%dT%H%M%SZ}-{name}", name, number, at(minutes), size)


ONE_SERVER = [one(number, number) for number in range(1, 10)]


class FakeS3:
    """Its client, of one bucket."""

    def __init__(self, objects: dict[str, bytes]) -> None:
        self.objects = objects
        self.stored: dict[str, datetime] = {}

    def get_paginator(self, _name: str) -> FakeS3:
        return self

    def paginate(self, Bucket: str, Prefix: str) -> list[Any]:  # noqa: N803
        found = [
            {"Key": key, "Size": len(body), "LastModified": self.stored.get(key, START)}
            for key, body in self.objects.items()
            if key.startswith(Prefix)
        ]
        return [{"Contents": found[:1]}, {"Contents": found[1:]}, {}]

    def get_object(self, Bucket: str, Key: str) -> Any:  # noqa: N803
        if Key not in self.objects:
            raise ClientError({"Error": {"Code": "NoSuchKey"}}, "GetObject")
        return {"Body": io.BytesIO(self.objects[Key]), "ETag": ""}


class Objects(Bucket):
    """A bucket with objects."""

    def __init__(self, objects: dict[str, bytes], name: str = "b") -> None:
        super().__init__(FakeS3(objects), name)
        self.objects = objects


def bucket(until: str = "2026-11-22T10:09:30Z") -> Objects:
    """A log a minute, each with two transactions, 10 and 20 s after it began; the last has none."""
    objects = {
        log.key: content(
            before((SOURCE, [(1, 2 * log.number + 1)])),
            *(gtid(2 * log.number + n, log.began + timedelta(seconds=10 * n)) for n in (1, 2)),
            rotated(log.began + timedelta(minutes=1)),
        ).getvalue()
        for log in ONE_SERVER[:-1]
    }
    objects[ONE_SERVER[-1].key] = content(before((SOURCE, [(1, 19)])), rotated(at(9.5))).getvalue()
    return Objects({**objects, "dev/binlogs/until": f"{until}\n".encode(), "other/binlogs/until": b""})


def covering(newest: Log) -> str:
    """`until` as it is written since it says what it is true of."""
    return f"2026-11-22T10:09:30Z\nserver {SOURCE}\nwriter 1\nnewest {newest.key}"


def replay(to: datetime, s3: Objects | None = None, base: datetime | None = None) -> replays.Replay:
    s3 = s3 or bucket()
    return replays.replay(logs.stored(s3, "dev/"), base or at(4.5), to)


def numbers(found: replays.Replay) -> list[int]:
    return [log.number for log in found.logs]


def test_it_begins_one_log_before_the_snapshots_and_ends_with_the_last_transaction_of_the_time() -> None:
    found = replay(at(6) + timedelta(seconds=15))
    assert found.last == f"{SOURCE}:13"
    assert numbers(found) == [3, 4, 5, 6]


def test_a_snapshot_of_the_first_log_begins_with_it() -> None:
    assert numbers(replay(at(2), base=at(1))) == [1, 2]


def test_a_log_before_the_snapshots_that_its_server_wrote_without_gtids_is_left_out() -> None:
    s3 = bucket()
    s3.objects[ONE_SERVER[2].key] = content(before(), event(34)).getvalue()
    assert numbers(replay(at(6), s3)) == [4, 5, 6]


def test_transactions_without_gtids_after_the_snapshot_are_told() -> None:
    s3 = bucket()
    s3.objects[ONE_SERVER[3].key] = content(before(), event(34)).getvalue()
    with pytest.raises(PointInTimeError, match=r"without a GTID.*Restore from a snapshot that was taken after it"):
        replay(at(6), s3)


def test_logs_that_begin_after_the_snapshot_are_refused() -> None:
    with pytest.raises(PointInTimeError, match="restore from a newer one"):
        replay(at(6), base=at(0.5))


def test_logs_of_one_second_are_in_the_servers_order() -> None:
    s3 = bucket()
    moved = {one(number, 4): s3.objects.pop(one(number, number).key) for number in (5, 6)}
    s3.objects |= {log.key: body for log, body in moved.items()}
    assert numbers(replay(at(7.5), s3)) == [5, 6, 7]


def test_where_its_log_has_none_of_the_time_the_one_before_says_it() -> None:
    assert (replay(at(6) + timedelta(seconds=5)).last, replay(at(9.2)).last) == (f"{SOURCE}:12", f"{SOURCE}:18")


def test_a_time_that_is_not_copied_yet_is_refused() -> None:
    with pytest.raises(PointInTimeError, match="reach until 2026-11-22T10:09:30Z"):
        replay(at(9.6))


@pytest.mark.parametrize(
    "name", ["20261122T100430Z-b|e id; echo .000004", "20269922T100430Z-binlog.000004", "20261122T100430Z-${x}.000004"]
)
def test_what_no_copier_wrote_is_no_log(name: str) -> None:
    s3 = bucket()
    s3.objects[f"dev/binlogs/{name}"] = b""
    assert len(logs.stored(s3, "dev/").logs) == len(ONE_SERVER)


@pytest.mark.parametrize("text", [b"", b"tomorrow\nserver x", b"\xff\xfe", b"2026-13-45T10:00:00Z"])
def test_an_until_that_no_copier_wrote_is_told(text: bytes) -> None:
    s3 = bucket()
    s3.objects["dev/binlogs/until"] = text
    with pytest.raises(PointInTimeError, match=r"s3://b/dev/binlogs/until begins with .*: somebody else wrote it"):
        logs.until(s3, "dev/")


def test_no_logs_are_told() -> None:
    with pytest.raises(PointInTimeError, match="there is no binary log in s3://b/dev/binlogs/"):
        replay(at(6), Objects({}))


def test_a_log_that_was_removed_since_it_was_listed_is_told() -> None:
    s3 = bucket()
    there = logs.stored(s3, "dev/")
    del s3.objects[ONE_SERVER[4].key]
    with pytest.raises(PointInTimeError, match=r"binlog\.000005 was removed just now: run the same command again"):
        replays.replay(there, at(4.5), at(6))


def up_to(number: int) -> GtidSet:
    return GtidSet.parse(f"{SOURCE}:1-{number}")


def test_it_says_what_the_snapshot_has_to_have_and_the_restored_server_may_have() -> None:
    found = replay(at(6) + timedelta(seconds=15))
    assert (found.begins, found.wanted, found.ends) == (up_to(6), up_to(13), up_to(14))
    # The last one that is wanted is in an earlier log than the last.
    quiet = replay(at(6) + timedelta(seconds=5))
    assert (quiet.last, quiet.wanted, quiet.ends) == (f"{SOURCE}:12", up_to(12), up_to(14))


def test_a_commit_that_is_written_after_a_later_one_is_wanted_with_it() -> None:
    s3, log = bucket(), ONE_SERVER[5]
    times = [at(6) + timedelta(seconds=10, microseconds=micros) for micros in (1, 0, 2)]
    commits = [gtid(12 + n, moment) for n, moment in enumerate(times, 1)]
    s3.objects[log.key] = content(before((SOURCE, [(1, 13)])), *commits, rotated(at(7))).getvalue()
    found = replay(times[1], s3)
    assert (found.last, found.wanted, found.ends) == (f"{SOURCE}:14", up_to(14), up_to(15))


def test_a_log_that_was_cut_short_is_among_the_others() -> None:
    s3 = bucket()
    cut = f"{ONE_SERVER[3].key}-50"
    s3 = Objects({**s3.objects, cut: b"x" * 50, one(5, 20).key: b""})
    found = replays.replay(logs.stored(s3, "dev/"), at(4.5), at(6))
    assert (found.others, cut in [log.key for log in found.logs]) == ((cut,), False)


def test_until_that_says_what_it_is_true_of_is_read_like_an_earlier_one() -> None:
    assert logs.until(bucket(covering(ONE_SERVER[-1])), "dev/") == logs.until(bucket(), "dev/") == at(9.5)
    found = replay(at(9.5), bucket(covering(ONE_SERVER[-1])))
    assert numbers(found) == [3, 4, 5, 6, 7, 8, 9]


def test_until_of_a_log_that_is_copied_since_is_true_of_those_before_it() -> None:
    assert numbers(replay(at(9.5), bucket(covering(ONE_SERVER[-2]))))[-1] == 9


def test_of_a_time_that_its_own_server_closed_no_other_log_has_to_speak() -> None:
    removed = one(10, 9.4)
    assert numbers(replay(at(9.5), bucket(covering(removed)))) == [3, 4, 5, 6, 7, 8, 9]


def test_until_of_a_log_that_was_removed_says_nothing_of_others() -> None:
    s3 = bucket(covering(one(10, 9.4)))
    s3.objects[ONE_SERVER[-1].key] = content(before((SOURCE, [(1, 19)])), gtid(19, at(9.2))).getvalue()
    with pytest.raises(PointInTimeError, match=r"binlog.000009 of .* is the last log that its server copied") as error:
        replay(at(9.5), s3)
    assert f"`--to {at(9.2):%Y-%m-%dT%H:%M:%SZ}`" in str(error.value)
