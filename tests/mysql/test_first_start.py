"""A first start that is cut off anywhere: what comes after it has a whole database, or says why there is none."""

from __future__ import annotations

import os
import random
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import closing_lines
from tests.mysql.place import DATA, ROOT_PASSWORD, Place, Task, query, server_task, stop, until_it_answers

pytestmark = [pytest.mark.sandbox, pytest.mark.nomad]

NewPlace = Callable[[], Place]
KILLS = int(os.environ.get("FIRST_START_KILLS", "4"))
"""So many first starts are killed at night; at every change two."""
LAST = 40
# Long enough to be cut off in the middle.
INIT = {
    "10-first.sql": "CREATE DATABASE shop;\nCREATE TABLE shop.t (i INT PRIMARY KEY);\n",
    "20-rows.sql": "".join(f"INSERT INTO shop.t VALUES ({row});\n" for row in range(LAST)),
    "30-last.sql": "CREATE TABLE shop.last (i INT PRIMARY KEY);\nINSERT INTO shop.last VALUES (1);\n",
}


def prepared(place: Place, nomad: Path, *options: str, **variables: Any) -> Task:
    task = server_task(nomad, *options, **variables)
    place.put(task, {"root_password": ROOT_PASSWORD})
    return task


def assert_whole(place: Place) -> None:
    assert query(place, "SELECT COUNT(*) FROM shop.t") == ((LAST,),)
    assert query(place, "SELECT * FROM shop.last") == ((1,),)
    assert query(place, "SELECT COUNT(*) FROM mysql.user WHERE User = 'root'") == ((2,),)
    assert not (place.root / DATA.lstrip("/") / "first-start").exists()


def first_start_takes(new_place: NewPlace, nomad: Path) -> float:
    place = new_place()
    started = time.monotonic()
    process = place.start(prepared(place, nomad, init_scripts=INIT))
    until_it_answers(place, process)
    took = time.monotonic() - started
    assert_whole(place)
    return took


@pytest.mark.parametrize("kills", [2, pytest.param(KILLS, marks=pytest.mark.nightly)], ids=["two", "more"])
def test_a_first_start_killed_at_any_moment_is_whole_after_the_next(
    new_place: NewPlace, nomad: Path, kills: int
) -> None:
    takes = first_start_takes(new_place, nomad)
    draw = random.Random(kills)
    seen = closing_lines.tally("first starts of mysql that were killed")
    for _ in range(kills):
        place = new_place()
        task = prepared(place, nomad, init_scripts=INIT)
        for _ in range(draw.choice((1, 1, 2))):
            process = place.start(task)
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(draw.uniform(0, 1.1) * takes)
            stop(process, kill=True)
        data = place.root / DATA.lstrip("/")
        half = (data / "first-start").exists()
        seen["half made, and made again" if half else "whole" if (data / "mysql").exists() else "before"] += 1
        process = place.start(task)
        until_it_answers(place, process)
        assert_whole(place)
        assert ("did not come to its end" in place.log.read_text()) or not half
        stop(process, kill=True)


def test_an_init_script_that_fails_is_not_taken_for_done_by_the_next_start(new_place: NewPlace, nomad: Path) -> None:
    place = new_place()
    broken = prepared(place, nomad, init_scripts={**INIT, "15-broken.sql": "INSERT INTO shop.nowhere VALUES (1);\n"})
    for _ in range(2):
        assert place.start(broken).wait(180) != 0
    (place.root / "docker-entrypoint-initdb.d/15-broken.sql").unlink()
    until_it_answers(place, place.start(prepared(place, nomad, init_scripts=INIT)))
    assert_whole(place)


def test_data_of_an_earlier_release_is_taken_as_it_is(new_place: NewPlace, nomad: Path) -> None:
    place = new_place()
    task = prepared(place, nomad, init_scripts=INIT)
    process = place.start(task)
    until_it_answers(place, process)
    query(place, "INSERT INTO shop.t VALUES (1000)")
    for kill in (False, True):
        stop(process, kill=kill)
        process = place.start(task)
        until_it_answers(place, process)
        assert query(place, "SELECT i FROM shop.t WHERE i = 1000") == ((1000,),)
    assert len(re.findall("the first start is complete", place.log.read_text())) == 1


def test_files_that_are_no_database_are_left_alone_and_the_way_out_is_told(new_place: NewPlace, nomad: Path) -> None:
    place = new_place()
    kept = place.root / DATA.lstrip("/") / "ibdata1"
    kept.parent.mkdir()
    kept.write_text("somebody's")
    assert place.start(prepared(place, nomad)).wait(60) == 1
    assert "holds files but no database" in place.log.read_text()
    assert "Set mysql.dataDir to a new folder" in place.log.read_text()
    assert kept.read_text() == "somebody's"


@pytest.mark.parametrize(("written", "told"), [("99.1.0", True), ("5.0.1", False)])
def test_a_server_older_than_its_data_is_refused_with_the_way_back(
    new_place: NewPlace, nomad: Path, written: str, told: bool
) -> None:
    place = new_place()
    data = place.root / DATA.lstrip("/")
    (data / "mysql").mkdir(parents=True)
    history = f'{{"file_format":"1","upgrade_history":[{{"version":"{written}-2"}}]}}'
    (data / "mysql_upgrade_history").write_text(history)
    process = place.start(prepared(place, nomad))
    if told:
        assert process.wait(60) == 1
    else:
        process.wait(120)
    assert (f"was written by version {written}" in place.log.read_text()) == told
    assert ("run 99.1.0 or newer again" in place.log.read_text()) == told


@pytest.mark.parametrize(
    ("runs", "written", "refused"), [("9.5.0", "9.5.1", True), ("8.0.41", "8.0.42", True), ("8.4.4", "8.4.6", False)]
)
def test_of_one_series_an_older_server_is_refused_unless_it_is_of_long_term_support(
    new_place: NewPlace, nomad: Path, runs: str, written: str, refused: bool
) -> None:
    place = new_place()
    data = place.root / DATA.lstrip("/")
    (data / "mysql").mkdir(parents=True)
    (data / "mysql_upgrade_history").write_text(f'{{"upgrade_history":[{{"version":"{written}"}}]}}')
    program = place.root / "usr/sbin/mysqld"
    program.unlink()
    program.write_text(f"#!/bin/sh\necho 'mysqld  Ver {runs} for Linux on x86_64 (MySQL Community Server - GPL)'\n")
    program.chmod(0o755)
    place.start(prepared(place, nomad)).wait(120)
    assert (f"was written by version {written}, which {runs} cannot read" in place.log.read_text()) == refused


@pytest.mark.parametrize("file", ["aria_log_control", "mariadb_upgrade_info"])
def test_files_of_mariadb_are_left_alone_and_the_way_on_is_told(new_place: NewPlace, nomad: Path, file: str) -> None:
    place = new_place()
    data = place.root / DATA.lstrip("/")
    (data / "mysql").mkdir(parents=True)
    (data / file).write_text("11.8.3-MariaDB")
    assert place.start(prepared(place, nomad)).wait(60) == 1
    assert "dump with MariaDB, and restore into MySQL on a new volume" in place.log.read_text()
    assert sorted(path.name for path in data.iterdir()) == sorted([file, "mysql"])


@pytest.mark.parametrize("mysqld", ["", "#!/bin/sh\necho 'mysqld  Ver 10.6.16-MariaDB for Linux on x86_64'\n"])
def test_an_image_without_mysql_is_refused(new_place: NewPlace, nomad: Path, mysqld: str) -> None:
    place = new_place()
    program = place.root / "usr/sbin/mysqld"
    program.unlink()
    if mysqld:
        program.write_text(mysqld)
        program.chmod(0o755)
    assert place.start(prepared(place, nomad)).wait(60) == 1
    assert "there is no mysqld of MySQL here: set mysql.image to an image of MySQL" in place.log.read_text()
