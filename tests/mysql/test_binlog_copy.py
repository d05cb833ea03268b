"""Copies of binary logs: what they vouch for is in S3, whatever the server, S3 or another server does."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.mysql import fake_s3
from tests.mysql.sidecars import BUCKET, FOLDER, SERVER, Sidecars, key, scripts, shown

pytestmark = [pytest.mark.nomad]

COPY = "binlog-copy"
OTHER = "99999999-71ca-11e1-9e33-c80aa9429562"


@pytest.fixture
def sidecars(nomad: Path, tmp_path: Path) -> Sidecars:
    return Sidecars(tmp_path, scripts(nomad, tmp_path))


@pytest.fixture
def copier(sidecars: Sidecars) -> Iterator[Sidecars]:
    """It runs, and has copied logs 1 to 3; 4 is open."""
    sidecars.serve(1, 4)
    moment = sidecars.close()
    with sidecars.runs(COPY):
        sidecars.reaches(moment)
        yield sidecars


def of_another(age_s: float, server: str = OTHER, newest: str = key(2)) -> bytes:
    """`until` as another allocation wrote it."""
    moment = shown(datetime.now(UTC) - timedelta(seconds=age_s))
    return f"{moment}\nserver {server}\nwriter other\nnewest {FOLDER}{newest}\n".encode()


def test_until_says_whose_logs_up_to_which_one_are_there(copier: Sidecars) -> None:
    assert set(copier.stored) == {key(1), key(2), key(3)}
    assert copier.until.splitlines()[1:] == [f"server {SERVER}", "writer one", f"newest {FOLDER}{key(3)}"]
    copier.serve(1, 5)
    copier.reaches(copier.close())
    assert copier.until.splitlines()[3] == f"newest {FOLDER}{key(4)}"


def test_the_last_copy_may_be_the_servers_first_log(copier: Sidecars) -> None:
    copier.remove(1, 2)
    copier.index(3, 4)
    copier.reaches(copier.close())
    for last in (5, 6):
        copier.serve(3, last)
        copier.reaches(copier.close())
    assert key(5) in copier.stored


@pytest.mark.parametrize("index", [None, ""])
def test_an_index_that_is_not_there_or_empty_says_nothing_of_what_is_whole(copier: Sidecars, index: str | None) -> None:
    before = copier.until
    copier.serve(1, 5)
    path = copier.folder / "data/binlog.index"
    whole = path.read_text()
    path.unlink() if index is None else path.write_text(index)
    moment = copier.close()
    copier.says("binlog.index")
    assert copier.until == before
    path.write_text(whole)
    copier.reaches(moment)
    assert key(4) in copier.stored


def goes_on_from_a_snapshot(copier: Sidecars, last: int) -> None:
    """Asserts that `until` moves again after it was removed, and not before."""
    before = copier.until
    copier.serve(last, last + 1)
    copier.close()
    copier.copies(last)
    assert copier.until == before
    (copier.bucket / "db%2Fbinlogs%2Funtil").unlink()
    copier.reaches(copier.close())
    assert copier.until.splitlines()[3] == f"newest {FOLDER}{key(last)}"


def test_logs_that_were_removed_before_they_were_copied_hold_it(copier: Sidecars) -> None:
    before = copier.until
    copier.serve(1, 8)
    copier.remove(1, 6)
    copier.index(7, 8)
    copier.close()
    copier.says("lost between binlog.000003 and binlog.000007: s3://logs/db/binlogs/until stays")
    copier.copies(7)
    assert copier.until == before
    goes_on_from_a_snapshot(copier, 8)


def test_also_after_a_restart_of_the_copier(sidecars: Sidecars) -> None:
    sidecars.serve(1, 4)
    with sidecars.runs(COPY):
        sidecars.reaches(sidecars.close())
    before = sidecars.until
    sidecars.serve(1, 8)
    sidecars.remove(1, 6)
    sidecars.index(7, 8)
    sidecars.close()
    for count, allocation in enumerate(("one", "two"), 1):
        with sidecars.runs(COPY, allocation):
            sidecars.says("lost between binlog.000003 and binlog.000007", count)
            sidecars.copies(7)
    assert sidecars.until == before
    with sidecars.runs(COPY, "two"):
        goes_on_from_a_snapshot(sidecars, 8)


@pytest.mark.parametrize("listed", [True, False], ids=["listed", "removed"])
def test_another_servers_logs_of_their_names_stand_for_none_of_them(copier: Sidecars, listed: bool) -> None:
    # As after a failover: one place in S3, the same numbers, other times.
    for number in (4, 5, 6):
        copier.put(key(number + 5000).replace(f"{number + 5000:06d}", f"{number:06d}"), b"x" * 100)
    before = copier.until
    with copier.runs(COPY, "two"):
        copier.serve(1, 8)
        copier.remove(4 if listed else 1, 6)
        copier.index(1 if listed else 7, 8)
        copier.close()
        said = "lost at binlog.000006" if listed else "lost between binlog.000003 and binlog.000007"
        copier.says(said, 2)
        copier.copies(7)
    assert copier.until == before


@pytest.mark.parametrize(
    "newest",
    [
        ["20260101T000000Z-x|e echo it ran >&2", ":inlog.000002$|d", "binlog.000002"],
        ["20260101T000000Z-binlog.[$(echo it ran >&2)]"],
    ],
)
def test_what_a_client_writes_into_until_is_no_command(sidecars: Sidecars, newest: list[str]) -> None:
    lines = [f"newest {line}\n" for line in newest]
    sidecars.put("until", f"{shown(datetime.now(UTC))}\nserver {SERVER}\nwriter one\n{''.join(lines)}".encode())
    sidecars.serve(1, 4)
    with sidecars.runs(COPY):
        sidecars.reaches(sidecars.close())
    assert set(sidecars.stored) == {key(1), key(2), key(3)}
    assert "it ran" not in sidecars.log


def test_all_closed_logs_removed_before_they_were_copied_hold_it(copier: Sidecars) -> None:
    before = copier.until
    copier.serve(1, 8)
    copier.remove(1, 7)
    copier.index(8)
    copier.close()
    copier.says("lost between binlog.000003 and binlog.000008")
    assert copier.until == before
    goes_on_from_a_snapshot(copier, 8)


def test_copied_logs_that_the_server_removes_are_no_gap(copier: Sidecars) -> None:
    copier.remove(1, 3)
    copier.index(4)
    copier.reaches(copier.close())
    copier.serve(4, 5)
    copier.reaches(copier.close())
    assert set(copier.stored) == {key(number) for number in (1, 2, 3, 4)}


def test_a_listed_log_without_its_file_holds_it(copier: Sidecars) -> None:
    before = copier.until
    copier.serve(1, 6)
    copier.remove(4, 4)
    copier.close()
    copier.says("lost at binlog.000004")
    copier.copies(5)
    assert copier.until == before
    goes_on_from_a_snapshot(copier, 6)


def test_logs_that_begin_anew_hold_it(copier: Sidecars) -> None:
    before = copier.until
    copier.remove(1, 4)
    path = copier.folder / "data/binlog.000001"
    path.write_bytes(b"\xfebin" + (1_795_399_000).to_bytes(4, "little"))
    copier.index(1)
    copier.close()
    copier.says("lost between binlog.000003 and binlog.000001")
    assert copier.until == before


def test_a_listing_that_fails_in_its_middle_is_made_again(sidecars: Sidecars) -> None:
    # The last log of a restored volume is shorter than the one that the old server copied.
    sidecars.put(key(1), b"1" * 100)
    sidecars.put(key(2), b"2" * 500)
    sidecars.serve(1, 3)
    sidecars.fault("list", "SlowDown")
    moment = sidecars.close()
    with sidecars.runs(COPY):
        sidecars.says("cannot be listed")
        sidecars.fault("list")
        sidecars.reaches(moment)
    assert sidecars.stored == {key(1): 100, key(2): 500, f"{key(2)}-100": 100}


def test_what_came_there_after_the_listing_is_not_replaced(copier: Sidecars) -> None:
    copier.write(5)
    copier.put(key(4), b"4" * 500)
    # One whose answer was lost.
    copier.put(key(5), (copier.folder / "data/binlog.000005").read_bytes())
    copier.serve(1, 6)
    copier.reaches(copier.close())
    assert {name: copier.stored[name] for name in copier.stored if "00000" in name and name > key(3)} == {
        key(4): 500,
        f"{key(4)}-100": 100,
        key(5): 100,
    }


def test_another_ones_object_of_a_logs_key_and_size_is_not_taken_for_the_log(copier: Sidecars) -> None:
    before = copier.until
    copier.put(key(4), b"4" * 100)
    copier.serve(1, 5)
    moment = copier.close()
    copier.says(f"s3://{BUCKET}/{FOLDER}{key(4)} is not the server's binlog.000004: somebody else wrote it")
    assert copier.until == before
    fake_s3.path_of(copier.bucket, FOLDER + key(4)).unlink()
    copier.reaches(moment)


def test_an_answer_that_is_lost_costs_a_try(copier: Sidecars) -> None:
    copier.fault("put", "RequestTimeout")
    copier.fault("put-until", "RequestTimeout")
    copier.serve(1, 5)
    moment = copier.close()
    copier.says("RequestTimeout")
    copier.copies(4)
    copier.fault("put")
    copier.says("until cannot be written")
    copier.fault("put-until")
    copier.reaches(moment)
    copier.reaches(copier.close())


LARGE = fake_s3.LARGEST * 2 + 100


def test_a_log_that_is_too_large_for_one_request_is_sent_in_parts(copier: Sidecars) -> None:
    copier.write(4, LARGE)
    copier.serve(1, 5)
    copier.reaches(copier.close())
    sent, stored = copier.folder / "data/binlog.000004", fake_s3.path_of(copier.bucket, FOLDER + key(4))
    assert stored.read_bytes() == sent.read_bytes()
    assert copier.uploads == []


def test_nor_does_it_replace_what_came_there_meanwhile(copier: Sidecars) -> None:
    copier.put(key(4), b"4" * 500)
    copier.write(4, LARGE)
    copier.serve(1, 5)
    copier.reaches(copier.close())
    assert (copier.stored[key(4)], copier.stored[f"{key(4)}-{LARGE}"]) == (500, LARGE)
    assert copier.uploads == []


def test_parts_of_an_upload_that_fails_are_given_up(copier: Sidecars) -> None:
    copier.fault("part", "SlowDown")
    copier.write(4, LARGE)
    copier.serve(1, 5)
    moment = copier.close()
    copier.says("(SlowDown) when calling the UploadPart operation")
    copier.await_(lambda: copier.uploads == [], "its parts are gone")
    copier.fault("part")
    copier.reaches(moment)
    assert copier.stored[key(4)] == LARGE


class TestAnotherServer:
    """It writes `until` of the same place."""

    def test_while_it_lives_the_logs_are_copied_and_not_vouched_for(self, sidecars: Sidecars) -> None:
        alive = of_another(5)
        sidecars.put("until", alive)
        sidecars.serve(1, 4)
        sidecars.close()
        with sidecars.runs(COPY):
            sidecars.says(f"is written for server {OTHER} by allocation other")
            sidecars.copies(1, 2, 3)
            assert sidecars.until.encode() == alive
            sidecars.put("until", of_another(500))
            sidecars.reaches(sidecars.close())

    def test_the_one_that_was_there_first_holds_too(self, copier: Sidecars) -> None:
        alive = of_another(5)
        copier.put("until", alive)
        copier.serve(1, 5)
        copier.close()
        copier.says(f"is written for server {OTHER} by allocation other")
        assert copier.until.encode() == alive
        copier.copies(4)

    def test_a_restored_volume_goes_on_with_its_own_logs(self, sidecars: Sidecars) -> None:
        # Another server's last log was the ninth; the volume was of when its third was open.
        sidecars.put("until", of_another(500, newest=key(9)))
        for number in range(1, 10):
            sidecars.put(key(number), b"x" * (100 if number < 3 else 500))
        sidecars.serve(1, 5)
        with sidecars.runs(COPY):
            sidecars.reaches(sidecars.close())
        assert sidecars.stored[f"{key(3)}-100"] == 100
        assert sidecars.until.splitlines()[1::2] == [f"server {SERVER}", f"newest {FOLDER}{key(4)}-100"]

    def test_the_same_server_in_a_new_allocation_goes_on_at_once(self, sidecars: Sidecars) -> None:
        sidecars.put("until", of_another(5, server=SERVER))
        sidecars.put(key(2), b"x" * 100)
        sidecars.serve(1, 4)
        with sidecars.runs(COPY):
            sidecars.reaches(sidecars.close())
        # What the other allocation vouched for is not gone through again.
        assert set(sidecars.stored) == {key(2), key(3)}

    def test_until_of_an_earlier_release_is_gone_on_from(self, sidecars: Sidecars) -> None:
        sidecars.put("until", f"{shown(datetime.now(UTC))}\n".encode())
        sidecars.serve(1, 4)
        with sidecars.runs(COPY):
            sidecars.reaches(sidecars.close())
        assert BUCKET in sidecars.log
