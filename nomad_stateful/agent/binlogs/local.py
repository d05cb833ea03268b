"""The binary logs of a data directory, as its server lists them."""

from __future__ import annotations

from bisect import bisect_left
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
        opening = self.opening(self._paths[-1])
        if opening is None:
            raise BinlogError(f"{self._paths[-1]} has no file")
        self.logged = opening.before
        """All transactions of the closed logs, and of those that the server has removed."""
        self.closed = self._paths[:-1]

    def named(self, name: str) -> Path | None:
        """Returns the log of a name; None where the server does not list it."""
        path = self._paths[0].with_name(name)
        return path if path in self._places else None

    def opening(self, path: Path) -> Opening | None:
        """Returns how a log begins; None where it has no file. Raises BinlogError."""
        if path not in self._openings:
            try:
                with path.open("rb") as log:
                    self._openings[path], _ = contents(path.name, log)
            except FileNotFoundError:
                return None
        return self._openings[path]

    def pending(self, archived: GtidSet | None) -> list[Path]:
        """Returns the closed logs from the first on whose transactions are not all archived; all where nothing is."""
        if archived is None:
            return self.closed
        # The set before a log grows from one to the next.
        first = bisect_left(range(len(self.closed)), True, key=lambda at: not self._ends(at) <= archived)
        return self.closed[first:]

    def ends(self, path: Path) -> GtidSet:
        """Returns all transactions up to a closed log's end: the next one that has a file says them."""
        return self._ends(self._places[path])

    def _ends(self, at: int) -> GtidSet:
        openings = (self.opening(path) for path in self._paths[at + 1 : -1])
        return next((one.before for one in openings if one), self.logged)
