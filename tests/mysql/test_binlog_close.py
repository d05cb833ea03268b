"""What says that binary logs are closed: only of a server that runs as a restore needs it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mysql.sidecars import SERVER, Sidecars, scripts

pytestmark = [pytest.mark.nomad]

_MYSQL = """
for question; do :; done
answers={folder}/answers
case "$question" in
  FLUSH*) echo flushed >>"$answers/flushes" ;;
  SELECT*) [ ! -e "$answers/away" ] || { echo "ERROR 2003 (HY000): no server" >&2; exit 1; }
    echo "$(cat "$answers/executed")"; cat "$answers/wrong" ;;
esac
"""


class Closer(Sidecars):
    """With a server that answers what it is told to."""

    def __post_init__(self) -> None:
        super().__post_init__()
        (self.folder / "answers").mkdir()
        self.stub("mysql", _MYSQL.replace("{folder}", str(self.folder)))
        self.answers("wrong", "")
        self.answers("executed", f"{SERVER} {SERVER}:1-5\n")
        self.answers("flushes", "")

    def answers(self, name: str, text: str) -> None:
        path = self.folder / "answers" / name
        path.with_suffix(".new").write_text(text)
        path.with_suffix(".new").rename(path)

    @property
    def closed(self) -> str:
        path = self.folder / "alloc/data/closed"
        return path.read_text() if path.exists() else ""

    @property
    def flushes(self) -> int:
        return (self.folder / "answers/flushes").read_text().count("flushed")

    def goes_on(self, rounds: int = 2) -> None:
        """Waits for what it says at other times."""
        for _ in range(rounds):
            before = self.closed
            self.await_(lambda before=before: self.closed != before, "it goes on")  # type: ignore[misc]


@pytest.fixture
def closer(nomad: Path, tmp_path: Path) -> Iterator[Closer]:
    made = Closer(tmp_path, scripts(nomad, tmp_path))
    with made.runs("binlog-close"):
        made.goes_on()
        yield made


def test_a_log_is_closed_for_transactions_alone(closer: Closer) -> None:
    assert closer.closed.split()[1] == SERVER
    assert closer.flushes == 1
    closer.answers("executed", f"{SERVER} {SERVER}:1-6\n")
    closer.await_(lambda: closer.flushes == 2, "the next is closed")
    closer.goes_on()
    assert closer.flushes == 2


@pytest.mark.parametrize(
    "wrong", ["gtid_mode\tOFF_PERMISSIVE", "sync_binlog\t0", "innodb_flush_log_at_trx_commit\t2\nbinlog_format\tMIXED"]
)
def test_it_holds_while_the_server_runs_with_anything_else(closer: Closer, wrong: str) -> None:
    shown = wrong.replace("\t", "=").replace("\n", " ")
    closer.answers("wrong", f"{wrong}\n")
    closer.says(f"the server runs with {shown} and needs gtid_mode=ON")
    held = closer.closed
    closer.answers("executed", f"{SERVER} {SERVER}:1-7\n")
    asked = closer.folder / "answers/away"
    asked.touch()
    closer.says("ERROR 2003 (HY000): no server")
    asked.unlink()
    closer.says("the server runs with", 2)
    assert (closer.closed, closer.flushes) == (held, 1)
    closer.answers("wrong", "")
    closer.says("the binary log is closed again")
    closer.goes_on()
    # What was written meanwhile is closed, whatever gtid_executed says of it.
    assert closer.flushes == 2


def test_a_server_that_does_not_answer_is_told_once(closer: Closer) -> None:
    (closer.folder / "answers/away").touch()
    closer.says("the binary log cannot be closed: ERROR 2003 (HY000): no server")
    held = closer.closed
    (closer.folder / "answers/away").unlink()
    closer.says("the binary log is closed again")
    closer.await_(lambda: closer.closed != held, "it goes on")
    assert closer.log.count("cannot be closed") == 1
