"""The cases that are reported, and what is wanted of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tools.bench.samples import Sample, ratio, select, summary

CONTENDERS = ("floor", "plain", "ours")
"""Who is compared, in the order to show."""


_OF = {"floor": "the floor", "plain": "plain"}


@dataclass(frozen=True)
class Case:
    """One line of the table."""

    title: str
    case: str
    measure: str
    most_ratio: float | None = None
    """Ours over another's, at most."""
    over: str = "floor"
    """Whose that is."""
    most_seconds: float | None = None
    """Ours, at most."""

    @property
    def target(self) -> str:
        """In words; empty where there is none."""
        if self.most_ratio is not None:
            return f"≤ {self.most_ratio:.2f} of {_OF[self.over]}"
        return "" if self.most_seconds is None else f"≤ {self.most_seconds:g} s"

    def verdict(self, samples: Sequence[Sample]) -> str:
        """Whether ours is within the target: yes, no, or why that cannot be said."""
        if not self.target:
            return ""
        ours = select(samples, self.case, "ours", self.measure)
        if self.most_ratio is not None:
            found, most = ratio(ours, select(samples, self.case, self.over, self.measure)), self.most_ratio
        else:
            found, most = summary(ours).median, self.most_seconds or 0
        if found is None:
            return "not measured"
        return "met" if found <= most else "missed"


CASES = (
    Case("Empty stack to MySQL answering", "up", "answering", most_ratio=1.10),
    Case("The same, until the command ends", "up", "command"),
    Case("Running stack to nothing left", "destroy", "nothing left", most_ratio=1.25, over="plain"),
    Case("Preview without a change", "preview", "command", most_ratio=1.00, over="plain"),
    Case("`up` without a change", "up without a change", "command"),
    Case("Warm `make up`", "make up, warm", "all", most_seconds=45),
)
