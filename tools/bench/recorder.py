"""Takes the time of what is done, keeps it, and goes on when it fails."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from tools.bench import rows
from tools.bench.samples import OK, Sample


class Recorder:
    """All samples so far; written to their file after each, so that nothing is lost with the run."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._started = time.monotonic()
        self.samples: list[Sample] = []

    def say(self, text: str) -> None:
        """A line of progress."""
        minutes, seconds = divmod(int(time.monotonic() - self._started), 60)
        print(f"bench {minutes:02d}:{seconds:02d}  {text}", file=sys.stderr, flush=True)

    def add(self, sample: Sample) -> None:
        """Keeps a sample and says it."""
        self.samples.append(sample)
        rows.write(self._path, Sample, self.samples, digits=3)
        outcome = "" if sample.outcome == OK else f"  {sample.outcome}"
        what = f"{sample.case} / {sample.measure}"
        self.say(f"{sample.contender:<14} {what:<42} {sample.seconds:7.2f} s{outcome}")

    def time(self, case: str, contender: str, measure: str, repetition: int, action: Callable[[], object]) -> bool:
        """Does it and keeps how long it took; says whether it went well."""
        started = time.monotonic()
        outcome = OK
        try:
            action()
        except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
            outcome = " ".join(str(error).split()) or type(error).__name__
        self.add(Sample(case, contender, measure, repetition, time.monotonic() - started, outcome))
        return outcome == OK

    def answered(
        self, case: str, contender: str, repetition: int, action: Callable[[], object], seconds: Callable[[], float]
    ) -> bool:
        """Two samples of one action: until it returned, and `seconds`: until MySQL answered. Whether both are good."""
        if not self.time(case, contender, "command", repetition, action):
            self.add(Sample(case, contender, "answering", repetition, 0, "the command failed"))
            return False
        started = time.monotonic()
        try:
            took, outcome = seconds(), OK
        except TimeoutError as error:
            took, outcome = time.monotonic() - started, str(error)
        self.add(Sample(case, contender, "answering", repetition, took, outcome))
        return outcome == OK
