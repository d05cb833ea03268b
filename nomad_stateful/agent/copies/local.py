"""The binary logs of a data directory, as its server lists them."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import pairwise, takewhile
from pathlib import Path

from nomad_stateful.databases.mysql.archive import Facts, facts
from nomad_stateful.databases.mysql.binlog import BinlogError, Opening, Readable, Transaction, contents
from nomad_stateful.databases.mysql.gtids import Gtid, GtidSet, GtidSetBuilder

_INDEX = "binlog.index"
# Sessions that commit at once may be logged in another order than the group's: the very last one says too little.
_COMPARED = 1000


class LocalLogs:
    """The logs at one moment, the oldest first. There may be a hundred thousand: only the heads of a few are read."""

    def __init__(self, datadir: Path) -> None:
        """Raises OSError, and BinlogError where the open log does not say which transactions were before it."""
        names = [Path(line).name for line in (datadir / _INDEX).read_text(encoding="utf-8").splitlines() if line]
        if not names:
            raise BinlogError(f"{datadir / _INDEX} is empty")
        self._paths = [datadir / name for name in names]
        self._places = {path: at for at, path in enumerate(self._paths)}
        self._openings: dict[Path, Opening] = {}
        with self._paths[-1].open("rb") as log:
            opening, _ = contents(self._paths[-1].name, log)
        self._openings[self._paths[-1]] = opening
        self.logged = opening.before
        """All transactions of the closed logs, and of those that the server has removed."""
        self.closed = self._paths[:-1]
        self.open = self._paths[-1]

    def named(self, name: str) -> Path | None:
        """Returns the log of a name; None where the server does not list it."""
        path = self._paths[0].with_name(name)
        return path if path in self._places else None

    def removed(self, number: int) -> bool:
        """Returns whether the server had a log of that number, and lists it no more."""
        return number < _number(self._paths[0].name)

    def opening(self, path: Path) -> Opening | None:
        """Returns how a log begins; None where it has no file, or is none that can be copied, as an encrypted one."""
        if path not in self._openings:
            try:
                with path.open("rb") as log:
                    self._openings[path], _ = contents(path.name, log)
            except (FileNotFoundError, BinlogError):
                return None
        return self._openings[path]

    @property
    def first(self) -> Opening:
        """How the oldest log begins that there is."""
        return next(one for one in map(self.opening, self._paths) if one)

    def after(self, number: int) -> list[Path]:
        """Returns the closed logs after that of a number."""
        return [path for path in self.closed if _number(path.name) > number]

    def lacking(self, gtids: GtidSet, since: datetime | None = None) -> list[Path]:
        """Returns the closed logs from the first one on that has others than these, or that began `since` then."""

        def is_wanted(path: Path) -> bool:
            opening = self.opening(path) if since else None
            return not self.ends(path) <= gtids or bool(since and opening and opening.began >= since)

        return list(takewhile(is_wanted, reversed(self.closed)))[::-1]

    def of_earlier_starts(self, alone: datetime | None) -> list[Path]:
        """Returns the logs from before the server's last start, but for those that began at that time or later.

        All before a log that does not say how it began.
        """
        last = next((at for at, path in reversed(list(enumerate(self._paths))) if self._may_start(path)), 0)
        while last and alone and ((opening := self.opening(self._paths[last - 1])) is None or opening.began >= alone):
            last -= 1
        return self._paths[:last]

    def _may_start(self, path: Path) -> bool:
        opening = self.opening(path)
        return opening is None or not opening.rotated

    def ends(self, path: Path) -> GtidSet:
        """Returns all transactions up to a closed log's end: the next one that has a file says them."""
        openings = (self.opening(one) for one in self._paths[self._places[path] + 1 : -1])
        return next((one.before for one in openings if one), self.logged)

    def own(self, path: Path) -> GtidSet:
        """Returns a closed log's transactions; none where it has no file."""
        opening = self.opening(path)
        return self.ends(path) - opening.before if opening else GtidSet()

    def unlike(self, commits: Mapping[Gtid, datetime]) -> GtidSet:
        """Returns those of some transactions whose GTIDs the closed logs have of others, of another first commit."""
        gtids, found = GtidSetBuilder(commits).build(), GtidSetBuilder()
        for path in takewhile(lambda one: gtids & self.ends(one), reversed(self.closed)):
            if gtids & self.own(path):
                with path.open("rb") as log:
                    found.extend(
                        one.gtid for one in _commits(path.name, log) if commits.get(one.gtid, one.at) != one.at
                    )
        return found.build()


def last_commits(name: str, log: Readable) -> dict[Gtid, datetime]:
    """Returns the last transactions of a log, and when each was first committed."""
    return {one.gtid: one.at for one in deque(_commits(name, log), _COMPARED)}


def _commits(name: str, log: Readable) -> Iterator[Transaction]:
    """Yields a log's transactions, as far as it can be read."""
    with suppress(BinlogError):
        yield from (part for part in contents(name, log)[1] if isinstance(part, Transaction))


def facts_of(path: Path, unlogged: GtidSet | None = None) -> Facts | None:
    """Returns what a log says; None where it has more than GTIDs, as from before its server had them."""
    try:
        with path.open("rb") as log:
            return facts(path.name, log, unlogged)
    except BinlogError:
        return None


def gap(names: Sequence[str]) -> str:
    """Returns between which two of some logs, in order, the server had others; "" between none."""
    pairs = (pair for pair in pairwise(names) if _number(pair[1]) != _number(pair[0]) + 1)
    return next((f"those between {before} and {after}" for before, after in pairs), "")


def _number(name: str) -> int:
    return int(name.rpartition(".")[2])
