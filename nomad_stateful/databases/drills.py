"""Restore drills of a database server: what runs beside it, and what it must not do meanwhile."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Drill:
    """How a restored server is checked, by a task with its image in its allocation."""

    script: str
    """Text of a shell script: it waits for the server, loads a dump by restore.sh where DRILL_DUMP is set, checks each
    table and counts its rows, and runs newest.sql where that is in the task's folder. It logs in by the socket.

    It prints lines of fields between tabs, the first of which is `drill`: answers VERSION; silent WHY (nobody is let in
    within DRILL_PATIENCE seconds); loading, loaded or unloaded WHY; tables N, checking NAME, table NAME ROWS STATUS;
    newest TIME; failed WHY; done.
    """
    quiet: tuple[str, ...]
    """Arguments with which the server runs nothing by itself."""
    own_tables: tuple[str, ...]
    """How the names of the tables begin that are nobody's data: the server's own, and those of `verify`."""
