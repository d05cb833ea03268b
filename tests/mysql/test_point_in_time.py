"""Binary logs applied to a copy of a real server's data, by the scripts of a drill's own job."""

from __future__ import annotations

import io
import re
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nomad_stateful.databases.mysql.archive import FOLDER
from nomad_stateful.databases.mysql.binlog import Transaction, contents
from nomad_stateful.operate.point_in_time import logs
from nomad_stateful.operate.point_in_time import replay as replays
from tests.mysql.drilled import OPTIONS, data, restored
from tests.mysql.place import (
    ROOT_PASSWORD,
    Place,
    place,
    query,
    server_task,
    stop,
    until_it_answers,
)
from tests.ports import unused_port
from tests.unit.operate.point_in_time.test_logs import Objects

pytestmark = [pytest.mark.sandbox, pytest.mark.nomad]


@dataclass
class Live:
    """The server that logs, and what S3 and EC2 would have of it."""

    place: Place
    folder: Path
    bucket: dict[str, bytes] = field(default_factory=dict)

    def copy(self, name: str) -> None:
        """Copies the data, as a snapshot would be of it."""
        subprocess.run(["cp", "-a", str(self.data), str(self.folder / name)], check=True)

    @property
    def data(self) -> Path:
        return data(self.place)

    def upload(self) -> None:
        """Takes every log into the bucket but the last, which is open."""
        for name in (self.data / "binlog.index").read_text().split()[:-1]:
            content = (self.data / Path(name).name).read_bytes()
            began = datetime.fromtimestamp(int.from_bytes(content[4:8], "little"), UTC)
            self.bucket[f"{FOLDER}{began:%Y%m%dT%H%M%SZ}-{Path(name).name}"] = content


def stored(bucket: dict[str, bytes]) -> logs.Stored:
    until = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}".encode()
    return logs.stored(Objects({**bucket, f"{FOLDER}until": until}), "")


@dataclass(frozen=True)
class History:
    """A server's life: a snapshot, a start after it, and one in a lull."""

    live: Live
    taken: datetime
    moment: datetime
    """When the rows 1 to 6 were there, and no other."""
    quiet: datetime

    @property
    def folder(self) -> Path:
        """Where the copies are."""
        return self.live.folder


@pytest.fixture(scope="module")
def history(image: Path, nomad: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    folder = tmp_path_factory.mktemp("live")
    with place(image, folder / "place", unused_port()) as made:
        found, live = server_task(nomad, *OPTIONS), Live(made, folder)
        made.put(found, {"root_password": ROOT_PASSWORD})
        process = made.start(found)
        until_it_answers(made, process)
        query(made, "CREATE DATABASE shop", "CREATE TABLE shop.orders (id INT PRIMARY KEY)")
        query(made, "CREATE TABLE shop.old (id INT) ENGINE = MyISAM", *rows(1, 2, 3))
        stop(process)
        live.copy("snapshot")
        taken = datetime.now(UTC)
        # It gives root a password, as each start does.
        process = made.start(found)
        until_it_answers(made, process)
        query(made, *rows(4), "CREATE EVENT shop.purge ON SCHEDULE EVERY 1 DAY DO DELETE FROM shop.old", "FLUSH LOGS")
        # Numbers of its own for a tag, as well.
        query(made, "SET gtid_next = 'AUTOMATIC:orders'", *rows(5, 6))
        moment = datetime.now(UTC)
        until_next_second()
        query(made, "FLUSH LOGS", *rows(7), "FLUSH LOGS")
        until_next_second()
        live.upload()
        # An open log without a transaction, which no copy has.
        stop(process, kill=True)
        live.copy("quiet")
        yield History(live, taken, moment, datetime.now(UTC))


def rows(*numbers: int) -> list[str]:
    return [f"INSERT INTO shop.orders VALUES ({number})" for number in numbers]


def until_next_second() -> None:
    """Logs are known by the second in which they were begun."""
    began = int(time.time())
    while int(time.time()) == began:
        time.sleep(0.01)


def test_a_start_of_the_live_server_between_snapshot_and_moment_is_applied_too(
    history: History, image: Path, nomad: Path, tmp_path: Path
) -> None:
    known = stored(history.live.bucket)
    found = replays.replay(known, history.taken, history.moment)
    with restored(image, nomad, tmp_path, found, history.folder / "snapshot", history.live.bucket) as drill:
        assert drill.is_done, drill.lines
        assert drill.rows() == [1, 2, 3, 4, 5, 6]
        # No account of the drill's own is left on what a snapshot is taken of.
        assert not [one for one in drill.said("table") if "unreadable" in one]
        assert drill.said("event") == ["shop.purge"]
        assert drill.said("engine") == ["shop.old (MyISAM)"]


def test_the_server_that_went_on_from_it_is_restored_too(
    history: History, image: Path, nomad: Path, tmp_path: Path
) -> None:
    """What was applied to its volume is in none of its own logs."""
    known = stored(history.live.bucket)
    found = replays.replay(known, history.taken, history.moment)
    with restored(image, nomad, tmp_path / "first", found, history.folder / "snapshot", history.live.bucket) as drill:
        stop(drill.place.started[-1])
        with place(image, tmp_path / "next", unused_port()) as made:
            live = Live(made, tmp_path)
            subprocess.run(["cp", "-a", "--no-target-directory", *map(str, (data(drill.place), live.data))], check=True)
            task = server_task(nomad, *OPTIONS)
            made.put(task, {"root_password": ROOT_PASSWORD})
            process = made.start(task)
            until_it_answers(made, process)
            query(made, *rows(10), "FLUSH LOGS", *rows(11), "FLUSH LOGS")
            stop(process, kill=True)
            live.copy("later")
            taken = datetime.now(UTC)
            process = made.start(task)
            until_it_answers(made, process)
            query(made, *rows(12), "FLUSH LOGS")
            until_next_second()
            live.upload()
            stop(process)
    own = {key: content for key, content in live.bucket.items() if key not in history.live.bucket}
    known = stored(own)
    assert known.until is not None
    found = replays.replay(known, taken, known.until)
    with restored(image, nomad, tmp_path / "second", found, live.folder / "later", own) as drill:
        assert drill.is_done, drill.lines
        assert drill.rows() == [1, 2, 3, 4, 5, 6, 10, 11, 12]


def test_a_snapshot_of_a_lull_ends_with_a_log_that_no_copy_has(
    history: History, image: Path, nomad: Path, tmp_path: Path
) -> None:
    known = stored(history.live.bucket)
    found = replays.replay(known, history.quiet, history.quiet)
    with restored(image, nomad, tmp_path, found, history.folder / "quiet", history.live.bucket) as drill:
        assert drill.is_done, drill.lines
        assert drill.rows() == [1, 2, 3, 4, 5, 6, 7]


def test_a_log_that_was_never_copied_is_a_hole(history: History) -> None:
    """Its server's other logs say how far they are whole, and that the next one does not follow."""
    known = stored(history.live.bucket)
    gone = max((log for log in known.logs if log.began <= history.moment), key=lambda log: log.number)
    known = stored({key: content for key, content in history.live.bucket.items() if key != gone.key})
    with pytest.raises(logs.PointInTimeError, match="between them is missing") as error:
        replays.replay(known, history.taken, history.moment)
    [named] = re.findall(r"`--to (\S+)`", str(error.value))
    whole = datetime.fromisoformat(named)
    assert history.taken < whole < history.moment
    found = replays.replay(known, history.taken, whole)
    assert gone.number == found.logs[-1].number + 1


def test_a_log_that_was_replaced_is_noticed(history: History, image: Path, nomad: Path, tmp_path: Path) -> None:
    known = stored(history.live.bucket)
    assert known.until is not None
    found = replays.replay(known, history.taken, known.until)
    bucket = dict(history.live.bucket)
    middle = next(log.key for log in found.logs if log.began > history.taken and has_transactions(bucket[log.key]))
    bucket[middle] = without_transactions(bucket[middle])
    with restored(image, nomad, tmp_path, found, history.folder / "snapshot", bucket) as drill:
        assert ["transactions are missing between the logs" in one for one in drill.said("unreplayed")] == [True]


def test_a_snapshot_of_another_timeline_is_noticed(history: History, image: Path, nomad: Path, tmp_path: Path) -> None:
    known = stored(history.live.bucket)
    found = replays.replay(known, history.taken, history.moment)
    with restored(image, nomad, tmp_path, found, history.folder / "quiet", history.live.bucket) as drill:
        assert ["has transactions that these logs do not have" in one for one in drill.said("unreplayed")] == [True]


def has_transactions(log: bytes) -> bool:
    _, parts = contents("log", io.BytesIO(log))
    return any(isinstance(one, Transaction) for one in parts)


def without_transactions(log: bytes) -> bytes:
    """The log's first two events: its format, and what was before it."""
    at = 4
    for _ in range(2):
        at += int.from_bytes(log[at + 9 : at + 13], "little")
    return log[:at]
