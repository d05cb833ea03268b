"""Three real servers with their agents and parent processes: one group, whatever ends when."""

from __future__ import annotations

import contextlib
import random
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pymysql
import pytest

from nomad_stateful.agent.membership import member as asking
from nomad_stateful.agent.membership.decision import Group as GroupOfAgent
from nomad_stateful.agent.server import ServerError
from tests import closing_lines
from tests.mysql.group import GROUP_ID, NAMES, Group, Member, fill, group
from tests.mysql.group_writer import Writer

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.nomad,
    # PyMySQL leaves the socket of a refused connection to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def template(image: Path, nomad: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of a first start, which the parent process and start.sh have made."""
    folder = tmp_path_factory.mktemp("template")
    with group(image, nomad, folder / "group") as made:
        member = made.members["member-1"]
        member.start_server()
        made.until(member.state)
        # Read-only from its very first ordinary start, and yet with root's password and nothing logged.
        assert member.query("SELECT @@super_read_only, @@GLOBAL.gtid_executed") == ((1, ""),)
        assert member.stop_server() == 0
        (member.data / "auto.cnf").unlink()
        subprocess.run(["cp", "-a", "--sparse=always", str(member.data), str(folder / "data")], check=True)
    return folder / "data"


@pytest.fixture
def three(image: Path, nomad: Path, template: Path, tmp_path: Path) -> Iterator[Group]:
    with group(image, nomad, tmp_path / "group", template) as made:
        yield made


def start(three: Group) -> None:
    for member in three:
        member.start_server()
        member.start_agent()


def assert_everything_is_there(three: Group, writer: Writer) -> None:
    """All members have what was acknowledged, and the same transactions, all of one group."""
    three.until_whole()
    three.until(lambda: len({one.query("SELECT @@GLOBAL.gtid_executed") for one in three}) == 1)
    for member in three:
        rows = {number for (number,) in member.query("SELECT i FROM shop.t")}
        assert set(writer.acknowledged) <= rows
    [(executed,)] = next(iter(three)).query("SELECT @@GLOBAL.gtid_executed")
    assert {one.split(":")[0].strip() for one in executed.split(",")} == {GROUP_ID}
    assert writer.at_once == []


@contextlib.contextmanager
def paused(*members: Member) -> Iterator[None]:
    """Has their servers stand still."""
    namespaces = [["pgrep", "--ns", str(one.first_process), "--nslist", "pid", "mysqld"] for one in members]
    pids = [pid for one in namespaces for pid in subprocess.check_output(one, text=True).split()]
    subprocess.run(["kill", "-STOP", *pids], check=True)
    try:
        yield
    finally:
        subprocess.run(["kill", "-CONT", *pids], check=True)


def other_primary(three: Group, former: Member) -> Member:
    [found] = three.until(lambda: [one for one in three.primaries() if one is not former])
    assert isinstance(found, Member)
    return found


@pytest.mark.nightly
def test_a_group_begins_and_its_primary_hands_over_when_it_is_stopped(three: Group) -> None:
    start(three)
    three.until_whole()
    [first] = three.until(three.primaries)
    assert first.name == NAMES[0]
    for path in ("/healthy", "/replica?lag=5"):
        assert [one.ask(path)[0] for one in three] == [200] * 3
    with Writer(three) as writer:
        writer.goes_on()
        assert first.stop_server() == 0
        other_primary(three, first)
        writer.goes_on()
        assert "member: handed over to" in first.place.log.read_text()
        first.start_server()
        three.until_whole()
    closing_lines.tally("a group's primary told to stop")[f"{writer.pause_s:.1f} s without writes"] += 1
    assert_everything_is_there(three, writer)
    assert not [one.name for one in three if "of-the-group" in one.said() + one.place.log.read_text()]


@pytest.mark.nightly
def test_a_killed_primary_is_followed_by_another(three: Group) -> None:
    start(three)
    three.until_whole()
    with Writer(three) as writer:
        writer.goes_on()
        [first] = three.until(three.primaries)
        first.query("CREATE TABLE shop.ticks (i INT AUTO_INCREMENT PRIMARY KEY)")
        first.query("CREATE EVENT shop.tick ON SCHEDULE EVERY 1 SECOND DO INSERT INTO shop.ticks VALUES ()")
        first.stop_server(kill=True)
        other_primary(three, first)
        writer.goes_on()
        # Its event would write there, as soon as the server takes writes of its agent.
        first.start_server()
        three.until_whole()
        assert [one.query("SELECT @@GLOBAL.event_scheduler") for one in three] == [(("ON",),)] * 3
    closing_lines.tally("a group's primary killed")[f"{writer.pause_s:.1f} s without writes"] += 1
    assert_everything_is_there(three, writer)


@pytest.mark.nightly
def test_all_killed_under_a_writer_come_back_with_everything_acknowledged(three: Group) -> None:
    start(three)
    three.until_whole()
    with Writer(three) as writer:
        for _ in range(3):
            writer.goes_on()
            for member in three:
                member.stop_server(kill=True)
            for member in random.sample(list(three), 3):
                member.start_server()
            three.until_whole()
            writer.goes_on()
    assert_everything_is_there(three, writer)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(3))
def test_agents_killed_or_paused_at_any_step_of_the_beginning_make_one_group(three: Group, seed: int) -> None:
    draw = random.Random(seed)
    for member in three:
        member.start_server()
    for member in three:
        three.until(member.state)
        member.start_agent()
    ends = time.monotonic() + 15
    while time.monotonic() < ends:
        member = draw.choice(list(three))
        if draw.random() < 0.5:
            threading.Event().wait(draw.uniform(0, 1.2))
            member.stop_agent()
            member.start_agent()
        else:
            member.pause_agent(draw.uniform(0, 3))
    three.until_whole(180)
    with Writer(three) as writer:
        writer.goes_on()
    assert_everything_is_there(three, writer)


@pytest.mark.nightly
@pytest.mark.parametrize("of", ["primary", "secondary"])
def test_a_member_whose_directory_is_empty_again_joins(three: Group, template: Path, of: str) -> None:
    start(three)
    three.until_whole()
    with Writer(three) as writer:
        writer.goes_on()
        [primary] = three.until(three.primaries)
        lost = primary if of == "primary" else next(one for one in three if one is not primary)
        lost.stop_server(kill=True)
        shutil.rmtree(lost.data)
        lost.start_server()
        three.until_whole()
        lost.stop_server(kill=True)
        fill(lost, template)
        # What is in no log any more is cloned: the server ends with status 16, and its parent starts it again.
        for one in three:
            if one is not lost:
                one.query("FLUSH NO_WRITE_TO_BINLOG BINARY LOGS")
                name, *_ = one.query("SHOW BINARY LOGS")[-1]
                one.query(f"PURGE BINARY LOGS TO '{name}'")
        lost.start_server()
        three.until_whole()
    assert "member: starts the server again" in lost.place.log.read_text()
    assert_everything_is_there(three, writer)


@pytest.mark.nightly
@pytest.mark.parametrize("holds", ["UPDATE shop.held SET n = 1", "LOCK TABLES shop.held WRITE"])
def test_a_paused_primary_is_not_one_when_it_wakes(three: Group, holds: str) -> None:
    start(three)
    three.until_whole()
    with Writer(three) as writer:
        writer.goes_on()
        [primary] = three.until(three.primaries)
        primary.query("CREATE TABLE shop.held (i INT PRIMARY KEY, n INT)", "INSERT INTO shop.held VALUES (1, 0)")
        # A session that nobody ends, as of a router that was cut off too, holds what the others change meanwhile.
        with contextlib.closing(primary.connect()) as client, client.cursor() as cursor:
            cursor.execute(holds)
            with paused(primary):
                other_primary(three, primary).query("UPDATE shop.held SET n = 2")
                writer.goes_on()
            three.until_whole()
            with pytest.raises(pymysql.err.MySQLError):
                client.commit()
        writer.goes_on()
    assert_everything_is_there(three, writer)
    assert [one.query("SELECT n FROM shop.held") for one in three] == [((2,),)] * 3


@pytest.mark.nightly
def test_a_group_without_a_majority_answers_no_question(three: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of no table, so that it needs no disk."""
    monkeypatch.setattr(asking, "_HEARS_WITHIN_S", 5.0)
    start(three)
    three.until_whole()
    first, *others = three
    options = [first.folder / name for name in ("client.cnf", "replication.cnf", "stopped-events")]
    own = asking.Member(GroupOfAgent(GROUP_ID, first.name, first.name, {}), *options)
    own.hear_from_group()
    with paused(*others), pytest.raises(ServerError, match="timed out"):
        own.hear_from_group()
    three.until_whole()


@pytest.mark.nightly
def test_nobody_begins_while_a_server_is_locked(three: Group) -> None:
    """As by another agent that has asked, and has not begun yet."""
    first, _, last = three
    for member in three:
        member.start_server()
        three.until(member.state)
    with last.session() as cursor:
        cursor.execute("SELECT GET_LOCK('nomad_stateful.group', 0)")
        for member in three:
            member.start_agent()
        three.until(lambda: "waits: replication is being started by another session" in first.said())
        assert first.state() == "OFFLINE"
    three.until_whole()


@pytest.mark.nightly
def test_a_primary_whose_disk_is_full_is_ended_and_another_one_goes_on(three: Group) -> None:
    first = three.members["member-1"]
    with small_disk(first):
        start(three)
        three.until_whole()
        with Writer(three) as writer:
            writer.goes_on()
            with contextlib.suppress(OSError), (first.data / "filler").open("wb") as filler:
                while True:
                    filler.write(bytes(4096))
                    filler.flush()
            other_primary(three, first)
            writer.goes_on()
            assert "commits wait for" in first.said()
            assert "member: ended the server: the disk takes no writes" in first.place.log.read_text()
            (first.data / "filler").unlink()
            first.start_server()
            three.until_whole()
        assert_everything_is_there(three, writer)
        first.stop_agent()
        first.stop_server(kill=True)


@contextlib.contextmanager
def small_disk(member: Member) -> Iterator[None]:
    """A file system of the member's own, with its data directory, whose files have their blocks."""
    kept = member.data.with_name("kept")
    member.data.rename(kept)
    member.data.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400m", "tmpfs", str(member.data)], check=True)
    try:
        subprocess.run(["cp", "-a", "--sparse=never", f"{kept}/.", str(member.data)], check=True)
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(member.data)], check=True)


@pytest.mark.nightly
def test_nobody_begins_while_one_does_not_answer(three: Group) -> None:
    start(three)
    three.until_whole()
    for member in three:
        member.stop_server(kill=True)
    away, *others = list(three)
    for member in others:
        member.start_server()
    three.until(lambda: all("begins only when all have answered: member-1" in one.said() for one in others))
    ends = time.monotonic() + 10
    while time.monotonic() < ends:
        assert {one.state() for one in others} <= {"OFFLINE", ""}
        assert {one.ask("/healthy")[0] for one in others} <= {503, 0}
        threading.Event().wait(0.5)
    away.start_server()
    three.until_whole()


@pytest.mark.nightly
@pytest.mark.parametrize("stays_away", [False, True])
def test_a_member_that_was_left_alone_goes_on_once_the_last_one_it_lost_is_back(
    three: Group, *, stays_away: bool
) -> None:
    """The other one, which the two had expelled before, may be back or not."""
    start(three)
    three.until_whole()
    with Writer(three) as writer:
        writer.goes_on()
        [first] = three.until(three.primaries)
        first.stop_server(kill=True)
        second = other_primary(three, first)
        writer.goes_on()
        second.stop_server(kill=True)
        [left] = [one for one in three if one not in (first, second)]
        three.until(lambda: "ONLINE without a majority" in left.said())
        began = time.monotonic()
        for member in [second] if stays_away else [first, second]:
            member.start_server()
        writer.goes_on(180)
        took_s = time.monotonic() - began
        if stays_away:
            first.start_server()
        three.until_whole()
    which = "one of two" if stays_away else "two of two"
    closing_lines.tally(f"{which} back at a member that was alone")[f"{took_s:.0f} s until writes went on"] += 1
    assert_everything_is_there(three, writer)


@pytest.mark.nightly
def test_what_scripts_of_the_first_start_did_is_on_all_members(image: Path, nomad: Path, tmp_path: Path) -> None:
    with group(image, nomad, tmp_path / "group") as made:
        first = made.members[NAMES[0]]
        script = "CREATE USER of_script; CREATE DATABASE shop; CREATE TABLE shop.s (i INT PRIMARY KEY);"
        (first.place.root / "docker-entrypoint-initdb.d/1.sql").write_text(f"{script} INSERT INTO shop.s VALUES (1);")
        for member in made:
            member.start_server()
            member.start_agent(has_scripts=member is first)
        made.until_whole(300)
        for member in made:
            assert member.query("SELECT i, user FROM shop.s, mysql.user WHERE user = 'of_script'") == (
                (1, "of_script"),
            )
        [(executed,)] = first.query("SELECT @@GLOBAL.gtid_executed")
        assert first.query("SELECT @@server_uuid")[0][0] not in executed
