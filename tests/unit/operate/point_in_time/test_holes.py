"""A point in time that lies in a hole of the logs is refused, and the last moment that is whole is named."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from nomad_stateful.operate.point_in_time import logs
from nomad_stateful.operate.point_in_time.logs import Log, PointInTimeError
from nomad_stateful.operate.point_in_time.replay import Replay, replay
from tests.unit.databases.mysql.test_binlog import SOURCE, before, gtid, rotated, stopped
from tests.unit.databases.mysql.test_binlog import log as content
from tests.unit.operate.point_in_time.test_logs import Objects, at, one

OTHER = uuid.UUID(int=7)
STARTED = "MySQL started between them"


def body(had: int, commits: Sequence[datetime], *ending: bytes, started: bool = False) -> bytes:
    """A log of a server that had committed so many transactions before it."""
    theirs = [gtid(had + number, moment) for number, moment in enumerate(commits, 1)]
    return content(before((SOURCE, [(1, had + 1)])), *theirs, *ending, started=started).getvalue()


def minute(number: int) -> tuple[Log, bytes]:
    """A log a minute, with transactions 10 and 20 s after it began, closed when the next one began."""
    log = one(number, number)
    commits = [at(number) + timedelta(seconds=10 * n) for n in (1, 2)]
    return log, body(2 * (number - 1), commits, rotated(at(number + 1)))


def up_to(last: int) -> dict[str, bytes]:
    """All logs of a server."""
    return {log.key: made for log, made in map(minute, range(1, last + 1))}


def until(minutes: float, newest: str) -> dict[str, bytes]:
    return {"dev/binlogs/until": f"{at(minutes):%Y-%m-%dT%H:%M:%SZ}\nserver x\nwriter 1\nnewest {newest}".encode()}


def restored(objects: dict[str, bytes], base: float, to: datetime) -> Replay:
    return replay(logs.stored(Objects(objects), "dev/"), at(base), to)


def refused(objects: dict[str, bytes], base: float, to: float, why: str) -> datetime:
    """Returns the last whole moment that the refusal names, which is then restored, and the next one is not."""
    with pytest.raises(PointInTimeError, match=why) as error:
        restored(objects, base, at(to))
    [named] = re.findall(r"`--to (\S+)`", str(error.value))
    whole = datetime.fromisoformat(named)
    assert f"whole up to {named}: " in str(error.value)
    if whole > at(base):
        restored(objects, base, whole)
        with pytest.raises(PointInTimeError):
            restored(objects, base, whole + timedelta(microseconds=1))
    return whole


class TestLogsThatWereRemovedBeforeTheyWereCopied:
    """The eleventh and twelfth; then somebody took a snapshot, and removed `until`."""

    OBJECTS = up_to(16) | until(17, one(16, 16).key)
    for number in (11, 12):
        del OBJECTS[one(number, number).key]
    MISSING = f"binlog.000013 .* is the next log in S3, and {SOURCE}:21-24 between them is missing"

    @pytest.mark.parametrize("to", [11.5, 12.9, 13.5, 16.5])
    def test_a_moment_in_the_hole_or_behind_it_is_refused(self, to: float) -> None:
        assert refused(self.OBJECTS, 4.5, to, self.MISSING) == at(11)

    def test_also_from_a_snapshot_that_was_taken_in_it(self) -> None:
        assert refused(self.OBJECTS, 11.4, 12.5, self.MISSING) == at(11)

    def test_on_both_sides_of_it_every_moment_is_restored(self) -> None:
        assert restored(self.OBJECTS, 4.5, at(10.9)).last == f"{SOURCE}:20"
        assert restored(self.OBJECTS, 13.2, at(16.5)).last == f"{SOURCE}:32"


class TestAZoneThatWasLost:
    """In the eleventh minute; the volume was restored from a snapshot of minute 7.3, and served from minute 13 on."""

    CUT = one(7, 7, size=50)
    NEXT, NEWEST = one(8, 13), one(9, 14)
    OBJECTS = (
        up_to(10)
        | {f"{CUT.key}-50": body(12, [at(7) + timedelta(seconds=10)])[:50].ljust(50)}
        | {NEXT.key: body(13, [at(13.1)], rotated(at(14)), started=True)}
        | {NEWEST.key: body(14, [at(14.1)], rotated(at(14.4)))}
        | until(14.5, NEWEST.key)
    )

    @pytest.mark.parametrize("base", [4.5, 7.3, 8.5])
    def test_what_the_lost_server_had_not_copied_is_told(self, base: float) -> None:
        assert refused(self.OBJECTS, base, 11.3, f"began binlog.000008 .* had not {SOURCE}:14-20 ") == at(11)

    def test_behind_it_the_restored_volumes_logs_are_others(self) -> None:
        assert refused(self.OBJECTS, 4.5, 14.2, "its volume was itself restored") == at(11)

    def test_also_where_it_had_copied_none_after_the_snapshot(self) -> None:
        """The seventh was copied once, by the restored server, cut; the next number is the next one's."""
        log, following = one(7, 7), one(8, 13)
        objects = up_to(6) | {log.key: body(12, [at(7.1)])}
        objects |= {following.key: body(13, [at(13.1)], rotated(at(13.4)), started=True)}
        objects |= until(13.5, following.key)
        assert refused(objects, 5.5, 7.4, "binlog.000008 .* is the next log") == at(7.1)
        assert restored(objects, 5.5, at(13.2)).last == f"{SOURCE}:14"

    def test_also_where_the_snapshot_lacked_its_last_event_alone(self) -> None:
        """All transactions of the tenth: then the restored server's next log has the lost one's number and GTIDs."""
        cut, following = one(10, 10, size=50), one(11, 13)
        objects = up_to(10) | {f"{cut.key}-50": b"x" * 50}
        objects |= {following.key: body(20, [at(13.1)], rotated(at(13.4)), started=True)} | until(13.5, following.key)
        assert refused(objects, 5.5, 11.4, STARTED) == at(11)


class TestAVolumeThatWasSwitched:
    """From minute 13 on MySQL runs on another volume; its last log on the old one was never copied."""

    # By its number it could be the old server's next.
    NEXT = one(11, 13)
    OBJECTS = (
        up_to(10)
        | {NEXT.key: content(before((SOURCE, [(1, 9)]), (OTHER, [(1, 3)])), rotated(at(14)), started=True).getvalue()}
        | until(14.5, NEXT.key)
    )

    def test_the_second_before_the_switch_is_refused(self) -> None:
        assert refused(self.OBJECTS, 8.5, 12.99, f"had not {SOURCE}:9-20 .* it is another server") == at(11)


class TestALogThatIsNotFollowed:
    """What was committed after its last transaction may be lost: its server was killed, or its volume restored."""

    @staticmethod
    def objects(*ending: bytes) -> dict[str, bytes]:
        log, following = one(10, 10), one(11, 12)
        return (
            up_to(9)
            | {log.key: body(18, [at(10.25)], *ending)}
            | {following.key: body(19, [at(12.1)], rotated(at(12.4)), started=True)}
            | until(12.5, following.key)
        )

    def test_a_killed_servers_last_transaction_is_the_last_moment(self) -> None:
        assert refused(self.objects(), 8.5, 11.5, STARTED) == at(10.25)

    def test_a_stopped_servers_end_is(self) -> None:
        assert refused(self.objects(stopped(at(11))), 8.5, 11.5, STARTED) == at(11)

    @pytest.mark.parametrize("ending", [(), (stopped(at(11)),)])
    def test_once_the_next_server_runs_every_moment_is_restored(self, ending: tuple[bytes, ...]) -> None:
        assert restored(self.objects(*ending), 8.5, at(12.2)).last == f"{SOURCE}:20"

    def test_what_until_is_true_of_needs_no_next_log(self) -> None:
        log = one(10, 10)
        objects = up_to(9) | {log.key: body(18, [at(10.25)])}
        assert restored(objects | until(12, log.key), 8.5, at(12)).last == f"{SOURCE}:19"
        earlier_release = {"dev/binlogs/until": b"2026-11-22T10:12:00Z\n"}
        assert restored(objects | earlier_release, 8.5, at(12)).last == f"{SOURCE}:19"


def test_two_servers_at_once_are_told_from_a_moment_before_the_second() -> None:
    rival = one(50, 6.5)
    objects = up_to(10) | {rival.key: body(0, [], rotated(at(7)), started=True)} | until(10.5, one(10, 10).key)
    whole = refused(objects, 4.5, 8.5, "or it is another server")
    assert whole == at(6.5) - timedelta(microseconds=1)


class TestNamesAreNoChain:
    """What leads on is said by the transactions alone."""

    def test_a_log_without_transactions_that_is_missing_is_no_hole(self) -> None:
        objects = up_to(7) | until(9.5, one(9, 9).key)
        objects |= {one(9, 9).key: body(14, [at(9.1)], rotated(at(9.4)))}
        assert restored(objects, 4.5, at(8.9)).last == f"{SOURCE}:14"
        assert restored(objects, 4.5, at(9.2)).last == f"{SOURCE}:15"

    def test_a_number_that_follows_does_not_hide_a_missing_transaction(self) -> None:
        objects = up_to(7) | until(9.5, one(8, 9).key)
        objects |= {one(8, 9).key: body(15, [at(9.1)], rotated(at(9.4)))}
        assert refused(objects, 4.5, 8.5, f"{SOURCE}:15 between them is missing") == at(8)
        assert refused(objects, 4.5, 9.2, f"{SOURCE}:15 between them is missing") == at(8)


class TestServersWithHolesInTheirNumbers:
    """Transactions of another server too, and numbers that nobody used."""

    LOGS = one(1, 1), one(2, 2), one(3, 3)
    SETS = ([(1, 4), (8, 9)], [(2, 3)]), ([(1, 4), (8, 9), (20, 21)], [(2, 3)]), ([(1, 4), (8, 9), (20, 21)], [(2, 3)])

    def objects(self, *numbers: int) -> dict[str, bytes]:
        commits: tuple[list[bytes], ...] = ([gtid(20, at(1.1))], [], [gtid(6, at(3.1)), gtid(30, at(3.2))])
        made = [
            content(before((SOURCE, own), (OTHER, others)), *some, rotated(at(number + 1))).getvalue()
            for number, (own, others), some in zip((1, 2, 3), self.SETS, commits, strict=True)
        ]
        return {self.LOGS[n - 1].key: made[n - 1] for n in numbers} | until(4, self.LOGS[-1].key)

    def test_they_are_no_holes_in_the_logs(self) -> None:
        found = restored(self.objects(1, 2, 3), 1.05, at(3.15))
        assert (found.last, str(found.begins)) == (f"{SOURCE}:6", f"{OTHER}:2,{SOURCE}:1-3:8")
        assert str(found.wanted) == f"{OTHER}:2,{SOURCE}:1-3:6:8:20"
        assert str(found.ends - found.wanted) == f"{SOURCE}:30"

    def test_a_log_that_is_missing_is_one(self) -> None:
        objects = {self.LOGS[0].key: content(before((SOURCE, [(1, 4)])), rotated(at(2))).getvalue()}
        objects |= self.objects(3)
        assert refused(objects, 1.05, 3.15, f"{OTHER}:2,{SOURCE}:8:20 between them is missing") == at(2)
