"""What a dump and a restore make of names, clocks and versions, by their own scripts and stubs of the clients."""

from __future__ import annotations

import gzip
import os
import shlex
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from nomad_stateful.databases.dumps import stem
from tests.mysql.databases import Databases
from tests.mysql.place import query, rendered, task

pytestmark = [pytest.mark.nomad]

# Of the questions that the scripts ask; a query by its words.
CLIENT = """#!/bin/sh
case "$*" in
  *user_privileges*) ;;
  *routines*) cat "$STUB/objects"; cp "$STUB/later" "$STUB/objects" ;;
  *schemata*) echo shop ;;
  *COUNT*) cat "$STUB/tables" ;;
  *VERSION*) cat "$STUB/version" ;;
  *) cat >"$STUB/restored" ;;
esac
"""
DUMPER = """#!/bin/sh
cat "$STUB/dump"
"""
OBJECTS = "DATABASE `shop`\nTABLE `shop`.`orders`\n"
DUMP = """-- MySQL dump 10.13
-- Server version\t{version}
-- Current Database: `shop`
-- Table structure for table `orders`
DROP TABLE orders;
-- Dump completed on 2026-01-01
"""


def name(ahead: timedelta) -> str:
    return f"{stem(datetime.now(UTC) + ahead)}.sql.gz"


@dataclass(frozen=True)
class Scripts:
    """Both scripts, and the folder of what the stubs say and hear."""

    nomad: Path
    folder: Path

    def put(self, ahead: timedelta, content: str = DUMP) -> str:
        """A dump of another time than now; returns its name."""
        found = name(ahead)
        (self.folder / "dumps" / found).write_bytes(gzip.compress(content.format(version="8.4.6").encode()))
        return found

    @property
    def dumps(self) -> set[str]:
        return {path.name for path in (self.folder / "dumps").glob("*.sql.gz")}

    def dump(self, launched: datetime | None = None, **env: str) -> subprocess.CompletedProcess[str]:
        job = f"mysql-backup/periodic-{launched.timestamp():.0f}" if launched else "mysql-backup"
        return self._run("dump", "dump", NOMAD_JOB_ID=job, **{"KEEP": "7", "S3": "", **env})

    def restore(self, dump: str = "latest", launched: datetime | None = None) -> subprocess.CompletedProcess[str]:
        job = f"mysql-restore/dispatch-{launched.timestamp():.0f}-0a1b2c3d" if launched else "mysql-restore"
        return self._run("restore", "restore", NOMAD_META_dump=dump, NOMAD_JOB_ID=job)

    @property
    def restored(self) -> str:
        path = self.folder / "restored"
        return path.read_text() if path.exists() else ""

    def _run(self, spec: str, named: str, **env: str) -> subprocess.CompletedProcess[str]:
        script = rendered(task(self.nomad, spec, named, {}).files[f"local/{named}.sh"], {})
        places = {"STUB": str(self.folder), "DUMPS": f"{self.folder}/dumps", "NOMAD_SECRETS_DIR": str(self.folder)}
        places["TLS_MYSQL"] = "--ssl-mode=REQUIRED"
        path = f"{self.folder}/bin:{os.environ['PATH']}"
        words = ["sh", "-c", script]
        return subprocess.run(
            words, env={"PATH": path, **places, **env}, capture_output=True, text=True, check=False, timeout=120
        )


@pytest.fixture
def scripts(nomad: Path, tmp_path: Path) -> Scripts:
    for folder in ("bin", "dumps"):
        (tmp_path / folder).mkdir()
    stubs = {"bin/mysql": CLIENT, "bin/mysqldump": DUMPER}
    said = {"client.cnf": "host = db\n", "tables": "1\n", "version": "8.4.6\n", "dump": DUMP.format(version="8.4.6")}
    said |= {"objects": OBJECTS, "later": OBJECTS}
    for path, text in (stubs | said).items():
        (tmp_path / path).write_text(text)
        (tmp_path / path).chmod(0o755)
    return Scripts(nomad, tmp_path)


AHEAD, EARLIER = timedelta(days=30), -timedelta(hours=1)


def test_a_dump_of_a_clock_that_was_ahead_stands_for_no_later_run(scripts: Scripts) -> None:
    ahead, launched = scripts.put(AHEAD), datetime.now(UTC) - timedelta(minutes=5)
    done = scripts.dump(launched, S3="bucket")
    assert done.returncode == 0, done.stderr
    assert len(scripts.dumps) == 2
    # This run's own, whose upload is tried again, is not made a second time.
    again = scripts.dump(launched, S3="bucket")
    assert "is of this run already" in again.stdout
    assert len(scripts.dumps) == 2
    assert ahead in scripts.dumps


@pytest.mark.parametrize("behind", [timedelta(hours=1), -timedelta(hours=1)])
def test_a_dump_has_the_time_of_its_run_whatever_the_clients_clock_says(scripts: Scripts, behind: timedelta) -> None:
    launched = datetime.now(UTC).replace(microsecond=0) + behind
    for count in (1, 2):
        done = scripts.dump(launched, S3="bucket")
        assert done.returncode == 0, done.stderr
        assert ("is of this run already" in done.stdout) == (count == 2)
        assert scripts.dumps == {f"{stem(launched)}.sql.gz"}
    restored = scripts.restore(launched=launched + timedelta(minutes=1))
    assert restored.stdout == f"{stem(launched)}.sql.gz is restored\n", restored.stderr


def test_it_has_no_other_dump_removed(scripts: Scripts) -> None:
    ahead, earlier = scripts.put(AHEAD), scripts.put(EARLIER)
    done = scripts.dump(KEEP="1")
    assert done.returncode == 0, done.stderr
    [made] = scripts.dumps - {ahead, earlier}
    assert scripts.dumps == {ahead, made}


def test_nor_is_it_the_latest(scripts: Scripts) -> None:
    scripts.put(AHEAD)
    earlier = scripts.put(EARLIER)
    done = scripts.restore()
    assert done.stdout == f"{earlier} is restored\n", done.stderr


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (DUMP.replace("`shop`", "`other`"), "the dump lacks DATABASE `shop`"),
        (DUMP.replace("-- Table", "-- View"), "the dump lacks TABLE `shop`.`orders`"),
        (DUMP.replace("`orders`", "`order`"), "the dump lacks TABLE `shop`.`orders`"),
        # As many tables as the server has, one of them in another database.
        (DUMP.replace("-- Table", "-- Current Database: `other`\n-- Table"), "the dump lacks TABLE `shop`.`orders`"),
        (DUMP.replace("DROP", "/*!50003 CREATE"), "the dump has 1 triggers, and the server 2"),
        (DUMP.replace("-- Dump completed", "-- Dump"), "the dump is not whole"),
        ("", "the dump is not whole"),
    ],
)
def test_a_dump_that_lacks_what_the_server_has_does_not_count(scripts: Scripts, said: str, why: str) -> None:
    earlier = scripts.put(EARLIER)
    (scripts.folder / "dump").write_text(said)
    if "triggers" in why:
        for name in ("objects", "later"):
            (scripts.folder / name).write_text(f"{OBJECTS}TRIGGER `shop`.`a`\nTRIGGER `shop`.`b`\n")
    done = scripts.dump(KEEP="1")
    assert done.returncode != 0
    assert why in done.stderr
    assert scripts.dumps == {earlier}


@pytest.mark.parametrize(("before", "after"), [("TABLE `shop`.`old`\n", ""), ("", "TABLE `shop`.`new`\n")])
def test_what_was_made_or_dropped_meanwhile_need_not_be_in_it(scripts: Scripts, before: str, after: str) -> None:
    (scripts.folder / "objects").write_text(OBJECTS + before)
    (scripts.folder / "later").write_text(OBJECTS + after)
    done = scripts.dump()
    assert done.returncode == 0, done.stderr
    assert len(scripts.dumps) == 1


@pytest.mark.parametrize(
    ("dumped", "taken"),
    [
        ("9.7.4", False),
        ("8.10.1", False),
        ("11.8.3-MariaDB-deb13", False),
        ("5.5.68-MariaDB", False),
        ("8.0.40", True),
        ("8.4.9", True),
    ],
)
def test_a_dump_of_a_newer_series_or_of_mariadb_touches_no_table(scripts: Scripts, dumped: str, *, taken: bool) -> None:
    scripts.put(EARLIER, DUMP.replace("{version}", dumped))
    done = scripts.restore()
    assert (done.returncode == 0) == taken, done.stderr
    assert ("DROP TABLE" in scripts.restored) == taken
    assert taken or f"{dumped}, and the server is of version 8.4.6: nothing is changed" in done.stderr


def test_into_a_server_without_tables_it_may_go(scripts: Scripts) -> None:
    (scripts.folder / "tables").write_text("0\n")
    scripts.put(EARLIER, DUMP.replace("{version}", "9.7.4"))
    done = scripts.restore()
    assert done.returncode == 0, done.stderr
    assert "DROP TABLE" in scripts.restored


def test_a_dump_that_names_no_server_is_restored(scripts: Scripts) -> None:
    scripts.put(EARLIER, DUMP.replace("-- Server version\t{version}\n", ""))
    done = scripts.restore()
    assert done.returncode == 0, done.stderr
    assert "DROP TABLE" in scripts.restored


def cut_off(text: str) -> bytes:
    return gzip.compress(text.encode())[:-20]


def damaged(text: str) -> bytes:
    """A dump whose last line can be read, and whose checksum is another's."""
    whole = gzip.compress(text.encode())
    return whole[:-8] + bytes(byte ^ 255 for byte in whole[-8:-4]) + whole[-4:]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is not whole"),
        (b"no dump", "is not whole"),
        (gzip.compress(b""), "is not whole"),
        (gzip.compress(DUMP.partition("-- Dump completed")[0].encode()), "is not whole"),
        (cut_off(DUMP), "is not whole"),
        (damaged(DUMP), "is not whole"),
        (gzip.compress(b"-- MySQL dump 10.13\n-- Dump completed on 2026-01-01\n"), "holds no database"),
    ],
    ids=["empty", "no archive", "nothing in it", "without its end", "cut off", "damaged", "no database"],
)
def test_a_dump_that_is_cut_off_damaged_or_empty_touches_no_table(scripts: Scripts, content: bytes, why: str) -> None:
    whole, newest = scripts.put(EARLIER), name(-timedelta(minutes=1))
    (scripts.folder / "dumps" / newest).write_bytes(content)
    done = scripts.restore()
    assert done.returncode != 0
    assert f"{newest} {why}: nothing is changed. Restore another dump" in done.stderr
    assert scripts.restored == ""
    assert scripts.restore(whole).returncode == 0


def test_a_dispatch_that_has_begun_before_touches_no_table(scripts: Scripts) -> None:
    name = scripts.put(EARLIER)
    first, second = datetime.now(UTC), datetime.now(UTC) + timedelta(minutes=1)
    for launched in (first, second):
        done = scripts.restore(launched=launched)
        assert done.stdout == f"{name} is restored\n", done.stderr
    (scripts.folder / "restored").unlink()
    # Nomad runs one whose client was lost again, maybe after others.
    for launched in (first, second):
        done = scripts.restore(launched=launched)
        assert done.returncode != 0
        assert "has begun before, and was lost with its client or stopped: it does not begin again" in done.stderr
    assert scripts.restored == ""


def test_one_that_cannot_be_noted_touches_no_table(scripts: Scripts) -> None:
    scripts.put(EARLIER)
    (scripts.folder / "dumps/.begun").mkdir()
    done = scripts.restore(launched=datetime.now(UTC))
    assert done.returncode != 0
    assert "cannot be noted on the dumps' volume (why is above): nothing is changed" in done.stderr
    assert scripts.restored == ""


# A database, and names in it, that are split, expanded or quoted by a shell, by SQL or by grep.
PLACE = "a `$HOME` ü\\c"
NAMES = {
    "TABLE": ("t `$x` [a-z]*", "CREATE TABLE {} (id INT PRIMARY KEY)"),
    "VIEW": ("v $(id) \\n", "CREATE VIEW {} AS SELECT 1 AS one"),
    "PROCEDURE": ("p */; '\"", "CREATE PROCEDURE {}() SELECT 1"),
    "FUNCTION": ("f \t tab", "CREATE FUNCTION {}() RETURNS INT DETERMINISTIC RETURN 1"),
    "EVENT": ("e über\nline", "CREATE EVENT {} ON SCHEDULE EVERY 1 DAY DO SELECT 1"),
    "TRIGGER": ("x -- #", "create trigger {} BEFORE INSERT ON `t ``$x`` [a-z]*` FOR EACH ROW SET @a = 1"),
}


def quoted(word: str) -> str:
    return "`" + word.replace("`", "``") + "`"


@pytest.mark.sandbox
@pytest.mark.parametrize("databases", ["with GTIDs"], indirect=True, scope="module")
def test_the_dump_of_a_real_server_holds_each_object_by_its_name(shop: Databases) -> None:
    made = {kind: quoted(word) for kind, (word, _) in NAMES.items()}
    query(shop.server, f"CREATE DATABASE {quoted(PLACE)}")
    for kind, (_, statement) in NAMES.items():
        query(shop.server, f"USE {quoted(PLACE)}", statement.format(made[kind]))
    dumper = shop.server.root / "usr/local/bin/mysqldump"
    try:
        done = shop.dump()
        assert done.returncode == 0, done.stderr
        query(shop.server, f"DROP DATABASE {quoted(PLACE)}")
        restored = shop.restore()
        assert restored.returncode == 0, restored.stderr
        for dump in shop.dumps:
            dump.unlink()
        for kind, word in made.items():
            # The dump without the statement, and the comment or DROP before it.
            shown = word.partition("\n")[0]
            dumper.write_text(f'#!/bin/sh\n/usr/bin/mysqldump "$@" | grep -vF {shlex.quote(shown)}\n')
            dumper.chmod(0o755)
            done = shop.dump()
            assert done.returncode != 0
            # Triggers are counted, and shop has one too.
            lacks = f"lacks {kind} {quoted(PLACE)}.{shown}" if kind != "TRIGGER" else "has 1 triggers, and the server 2"
            assert done.stderr.endswith(f"the dump {lacks}\n")
            assert shop.dumps == []
    finally:
        dumper.unlink(missing_ok=True)
        query(shop.server, f"DROP DATABASE {quoted(PLACE)}")
