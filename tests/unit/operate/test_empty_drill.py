"""A drill of a server without a table of anybody's, as each database's check tells of it."""

import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from nomad_stateful.databases.catalogue import DATABASES
from nomad_stateful.databases.operations import operations
from nomad_stateful.operate.database import TABLE
from nomad_stateful.operate.drill.model import Target
from nomad_stateful.operate.drill.report import Report, Table
from nomad_stateful.operate.drill.watch import Watch
from nomad_stateful.waiting import Context, Progress, Stopwatch
from tests.fake_nomad.jobs import ended
from tests.programs import make_program

CLIENTS = {
    "mysql": """#!/bin/sh
case "$*" in
  *VERSION*) echo 9.7.4 ;;
  *information_schema.tables*) printf '%s\\n' "$TABLES" ;;
  *COUNT*) echo 0 ;;
esac
""",
    "postgres": """#!/bin/sh
case "$*" in
  *server_version*) echo 18.1 ;;
  *pg_database*) echo postgres ;;
  *pg_class*) printf '%s' "$TABLES" ;;
  *) cat >/dev/null ;;
esac
""",
}
"""Clients of a server with some tables, by database."""
VERIFIES = {"mysql": f"`{TABLE.replace('.', '`.`')}`", "postgres": f"postgres.{TABLE}"}
USERS = {"mysql": "`shop`.`orders`", "postgres": "postgres.public.orders"}
NUMBER = {"mysql": "", "postgres": "7\t"}
OWN = {"mysql": "`mysql`.`user`", "postgres": "pg_catalog.postgres"}
"""What is checked of the server itself."""


def checked(folder: Path, database: str, *tables: str) -> str:
    """What the check prints, with a client of a server with these tables."""
    make_program(folder / {"postgres": "psql"}.get(database, database), CLIENTS[database])
    known = "\n".join(NUMBER[database] + table for table in tables)
    env = {
        "PATH": f"{folder}:/usr/bin:/bin",
        **dict.fromkeys(("NOMAD_SECRETS_DIR", "NOMAD_TASK_DIR"), str(folder)),
        "TLS_MYSQL": "--ssl-mode=DISABLED",
        "DRILL_PATIENCE": "1",
        "TABLES": f"{OWN['mysql']}\n{known}" if database == "mysql" else known,
    }
    words = ["sh", "-c", operations(database).drill.script]
    return subprocess.run(words, env=env, capture_output=True, text=True, check=True).stdout


class Nomad:
    """A cluster whose drill job has ended well, and said something."""

    def __init__(self, database: str, said: str) -> None:
        self._allocation = {"ID": "a1", "CreateIndex": 1, "ClientStatus": "complete"}
        self._allocation["TaskStates"] = {database: ended(143, killed=True), "check": ended(0)}
        self._said = said

    def get(self, _path: str, **_params: Any) -> Any:
        """The job's allocations."""
        return [self._allocation]

    def text(self, _path: str, **words: Any) -> str:
        """The check's log."""
        return self._said[words["offset"] :]


def judged(database: str, said: str) -> Report:
    """The report of a drill whose check said that."""
    target = Target(
        database, "vol-1", f"shop/prod/{database}", "drill", "drill", "a", "ebs", "zone", kind=DATABASES[database]
    )
    report = Report(database, datetime.now(UTC))
    nomad: Any = Nomad(database, said)
    Watch(nomad, target, report, Stopwatch(), Progress(Context(), 60)).follow()
    return report


@pytest.mark.parametrize("verified", [False, True])
@pytest.mark.parametrize("database", DATABASES)
def test_a_server_without_a_table_of_anybodys_proves_nothing(tmp_path: Path, database: str, *, verified: bool) -> None:
    tables = [VERIFIES[database]] if verified else []
    report = judged(database, checked(tmp_path, database, *tables))
    assert [table.name for table in report.tables] == [OWN[database], *tables]
    [finding] = report.findings
    assert finding.what == "the restored server has no table but its own and that of `verify`: nothing is proven"
    assert "drill again once the live server has tables" in finding.next
    assert "--snapshot ID" in finding.next


@pytest.mark.parametrize("database", DATABASES)
def test_one_table_without_rows_is_proof(tmp_path: Path, database: str) -> None:
    report = judged(database, checked(tmp_path, database, USERS[database]))
    assert report.tables[1:] == [Table(USERS[database], 0, "OK")]
    assert report.ok


@pytest.mark.parametrize(("status", "kept"), [("OK", True), ("corrupt", False)])
def test_the_moment_of_a_server_without_tables_is_kept_where_it_is_whole(status: str, *, kept: bool) -> None:
    lines = ["answers\t9.7.4", "replaying", "replayed", f"table\t{OWN['mysql']}\t3\t{status}", "done"]
    report = judged("mysql", "".join(f"drill\t{line}\n" for line in lines))
    assert not report.ok
    assert report.unchecked is kept
