"""Three real servers with their agents and parent processes: one group, whatever ends when."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import closing_lines
from tests.mysql.group import GROUP_ID, NAMES, Group, Member, group
from tests.mysql.group_writer import Writer

pytestmark = [pytest.mark.sandbox, pytest.mark.nomad]


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


def other_primary(three: Group, former: Member) -> Member:
    [found] = three.until(lambda: [one for one in three.primaries() if one is not former])
    assert isinstance(found, Member)
    return found


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
