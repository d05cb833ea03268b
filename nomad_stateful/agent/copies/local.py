"""The binary logs of a data directory, as its server lists them."""

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise, takewhile
from pathlib import Path

from nomad_stateful.databases.mysql.binlog import BinlogError, Opening, contents
from nomad_stateful.databases.mysql.gtids import GtidSet

_INDEX = "binlog.index"


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


def gap(names: Sequence[str]) -> str:
    """Returns between which two of some logs, in order, the server had others; "" between none."""
    pairs = (pair for pair in pairwise(names) if _number(pair[1]) != _number(pair[0]) + 1)
    return next((f"those between {before} and {after}" for before, after in pairs), "")


def _number(name: str) -> int:
    return int(name.rpartition(".")[2])
