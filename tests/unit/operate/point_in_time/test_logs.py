"""Which binary logs lead from a snapshot to a point in time."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from operate.point_in_time import logs
from operate.point_in_time import replay as replays
from operate.point_in_time.chain import chain
from operate.point_in_time.logs import Log, PointInTimeError
from tests.unit.operate.point_in_time.test_binlog import SOURCE, before, gtid, rotated
from tests.unit.operate.point_in_time.test_binlog import log as content

START = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)


def at(minutes: float) -> datetime:
    return START + timedelta(minutes=minutes)


def one(number: int, minutes: float, size: int = 100) -> Log:
    name = f"binlog.{number:06d}"
    return Log(f"dev/binlogs/{at(minutes):%Y%m%dT%H%M%SZ}-{name}", name, number, at(minutes), size)


ONE_SERVER = [one(number, number) for number in range(1, 10)]


def test_it_begins_one_log_before_the_snapshots_and_ends_with_the_one_of_the_time() -> None:
    assert [log.number for log in chain(ONE_SERVER, at(4.5), at(6.5))] == [3, 4, 5, 6]


def test_a_snapshot_of_the_first_log_begins_with_it() -> None:
    assert [log.number for log in chain(ONE_SERVER, at(1), at(2))] == [1, 2]


def test_logs_that_begin_after_the_snapshot_are_refused() -> None:
    with pytest.raises(PointInTimeError, match="restore from a newer one"):
        chain(ONE_SERVER, at(0.5), at(6))


def test_it_ends_before_a_log_that_is_missing() -> None:
    there = [log for log in ONE_SERVER if log.number != 5]
    assert [log.number for log in chain(there, at(3.5), at(8.5))] == [2, 3, 4]


def test_logs_of_one_second_are_one_servers() -> None:
    quick = [one(1, 1), one(2, 1), one(3, 1), one(4, 2)]
    assert [log.number for log in chain(quick, at(1.5), at(2.5))] == [2, 3, 4]


class TestARestoredVolume:
    """From a snapshot of minute 3.5, at minute 6.1: another log has the name of the old server's fourth."""

    ALL = (*[one(number, number) for number in range(1, 7)], one(3, 3, size=50), one(4, 6.1), one(5, 7.1))

    def test_a_time_before_the_restore_is_the_old_servers(self) -> None:
        found = chain(self.ALL, at(2.5), at(5.5))
        assert [log.began for log in found] == [at(n) for n in (1, 2, 3, 4, 5)]
        assert all(log.size == 100 for log in found)

    @pytest.mark.parametrize("to", [6.5, 7.5])
    def test_a_time_after_it_is_refused_from_an_earlier_snapshot(self, to: float) -> None:
        with pytest.raises(PointInTimeError, match="the volume was itself restored"):
            chain(self.ALL, at(2.5), at(to))

    def test_also_where_the_old_server_had_begun_no_further_log(self) -> None:
        with pytest.raises(PointInTimeError, match="the volume was itself restored"):
            chain([one(1, 1), one(2, 2), one(3, 3), one(3, 3, size=50), one(4, 6.1)], at(2.5), at(6.5))

    def test_from_a_later_snapshot_the_new_servers_logs_lead_on(self) -> None:
        assert [log.began for log in chain(self.ALL, at(7.2), at(7.5))][-1] == at(7.1)


class Bucket:
    """An S3 with objects."""

    def __init__(self, objects: dict[str, bytes]) -> None:
        self.objects = objects

    def get_paginator(self, _name: str) -> Bucket:
        return self

    def paginate(self, Bucket: str, Prefix: str) -> list[Any]:  # noqa: N803
        found = [{"Key": key, "Size": len(body)} for key, body in self.objects.items() if key.startswith(Prefix)]
        return [{"Contents": found[:1]}, {"Contents": found[1:]}, {}]

    def get_object(self, Bucket: str, Key: str) -> Any:  # noqa: N803
        if Key not in self.objects:
            raise ClientError({"Error": {"Code": "NoSuchKey"}}, "GetObject")
        return {"Body": io.BytesIO(self.objects[Key])}


def bucket(until: str = "2026-11-22T10:09:30Z") -> Bucket:
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
    return Bucket({**objects, "dev/binlogs/until": f"{until}\n".encode(), "other/binlogs/until": b""})


def covering(newest: Log) -> str:
    """`until` as it is written since it says what it is true of."""
    return f"2026-11-22T10:09:30Z\nserver {SOURCE}\nwriter 1\nnewest {newest.key}"


def replay(to: datetime, s3: Bucket | None = None) -> replays.Replay:
    s3 = s3 or bucket()
    return replays.replay(s3, logs.stored(s3, "b", "dev/"), at(4.5), to)


def test_it_ends_with_the_last_transaction_of_the_time() -> None:
    found = replay(at(6) + timedelta(seconds=15))
    assert (found.last, found.after) == (f"{SOURCE}:13", f"{SOURCE}:14")
    assert [log.number for log in found.logs] == [3, 4, 5, 6]


def test_where_its_log_has_none_of_the_time_the_one_before_says_it() -> None:
    assert (replay(at(6) + timedelta(seconds=5)).last, replay(at(9.2)).last) == (f"{SOURCE}:12", f"{SOURCE}:18")
    assert replay(at(6) + timedelta(seconds=5)).after == f"{SOURCE}:13"
    assert not replay(at(9.2)).after


def test_a_time_that_is_not_copied_yet_is_refused() -> None:
    with pytest.raises(PointInTimeError, match="reach until 2026-11-22T10:09:30Z"):
        replay(at(9.6))


@pytest.mark.parametrize(
    "name", ["20261122T100430Z-b|e id; echo .000004", "20269922T100430Z-binlog.000004", "20261122T100430Z-${x}.000004"]
)
def test_what_no_copier_wrote_is_no_log(name: str) -> None:
    s3 = bucket()
    s3.objects[f"dev/binlogs/{name}"] = b""
    assert len(logs.stored(s3, "b", "dev/").logs) == len(ONE_SERVER)


@pytest.mark.parametrize("text", [b"", b"tomorrow\nserver x", b"\xff\xfe", b"2026-13-45T10:00:00Z"])
def test_an_until_that_no_copier_wrote_is_told(text: bytes) -> None:
    s3 = bucket()
    s3.objects["dev/binlogs/until"] = text
    with pytest.raises(PointInTimeError, match=r"s3://b/dev/binlogs/until begins with .*: somebody else wrote it"):
        logs.until(s3, "b", "dev/")


def test_no_logs_are_told() -> None:
    with pytest.raises(PointInTimeError, match="there is no binary log in s3://b/dev/binlogs/"):
        replay(at(6), Bucket({}))


def test_it_says_what_the_snapshot_has_to_have_and_may_have() -> None:
    found = replay(at(6) + timedelta(seconds=15))
    assert (found.begins, found.before_last) == (f"{SOURCE}:1-6", f"{SOURCE}:1-12")
    assert found.ends == f"{SOURCE}:1-14"
    # The last one that is wanted is in an earlier log than the last.
    quiet = replay(at(6) + timedelta(seconds=5))
    assert (quiet.before_last, quiet.ends) == (f"{SOURCE}:1-10", f"{SOURCE}:1-14")


def test_a_log_that_was_cut_short_is_among_the_others() -> None:
    s3 = bucket()
    cut = f"{ONE_SERVER[3].key}-50"
    s3 = Bucket({**s3.objects, cut: b"x" * 50, one(5, 20).key: b""})
    found = replays.replay(s3, logs.stored(s3, "b", "dev/"), at(4.5), at(6))
    assert (found.others, cut in [log.key for log in found.logs]) == ((cut,), False)


def test_until_that_says_what_it_is_true_of_is_read_like_an_earlier_one() -> None:
    assert logs.until(bucket(covering(ONE_SERVER[-1])), "b", "dev/") == logs.until(bucket(), "b", "dev/") == at(9.5)
    found = replay(at(9.5), bucket(covering(ONE_SERVER[-1])))
    assert [log.number for log in found.logs] == [3, 4, 5, 6, 7, 8, 9]


def test_until_of_a_log_that_is_copied_since_is_true_of_those_before_it() -> None:
    assert [log.number for log in replay(at(9.5), bucket(covering(ONE_SERVER[-2]))).logs][-1] == 9


def test_what_another_server_vouched_for_is_not_said_of_these_logs() -> None:
    gone, other = one(10, 9.4), one(9, 9.2)
    with pytest.raises(
        PointInTimeError, match=r"do not lead: they end with dev/binlogs/20261122T100900Z-binlog.000009"
    ):
        replay(at(9.5), bucket(covering(gone)))
    objects = {log.key: b"" for log in (ONE_SERVER[7], other)} | {"dev/binlogs/until": covering(other).encode()}
    known = logs.stored(Bucket(objects), "b", "dev/")
    assert known.covers == other.key
    # Before the other one's newest log began, it says nothing.
    assert replay(at(8.5), bucket(covering(ONE_SERVER[-1]))).last == f"{SOURCE}:18"
