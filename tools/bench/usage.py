"""Memory and processor time of a command and everything it starts."""

from __future__ import annotations

from collections import Counter
from threading import Event, Thread

from tools.bench.process_tree import process_tree

SAMPLE_S = 0.1


class Usage:
    """Memory and processor time of a process and everything below it, sampled until it is stopped."""

    def __init__(self, root: int) -> None:
        self.peak_mib: Counter[str] = Counter()
        """Most resident memory of one process, by what it is."""
        self._cpu_s: dict[int, tuple[str, float]] = {}
        self._root = root
        self._stop = Event()
        self._thread = Thread(target=self._watch, daemon=True)

    def start(self) -> Usage:
        """Begins the sampling."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Ends the sampling."""
        self._stop.set()
        self._thread.join()

    @property
    def cpu_s(self) -> float:
        """Of all processes."""
        return sum(seconds for _, seconds in self._cpu_s.values())

    def sample(self) -> None:
        """Looks at all processes once."""
        for found in process_tree(self._root):
            # What was forked may be another program by now; one that has ended has no command line any more.
            name = found.name or self._cpu_s.get(found.pid, ("",))[0]
            self._cpu_s[found.pid] = name, found.cpu_s
            self.peak_mib[name] = max(self.peak_mib[name], round(found.resident_mib))

    def _watch(self) -> None:
        while not self._stop.wait(SAMPLE_S):
            self.sample()
