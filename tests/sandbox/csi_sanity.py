"""A run of the community's CSI test suite: its closing counts, and each test it skipped with its reason."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.closing_lines import say

_COUNT = re.compile(r"(\d+) (Passed|Failed|Pending|Skipped)")
REPORT = "csi-sanity.json"


def options(folder: Path) -> list[str]:
    """What the suite is told besides its own options: a plain closing line, and a report."""
    return ["--ginkgo.no-color", f"--ginkgo.json-report={folder / REPORT}"]


@dataclass(frozen=True)
class SanityRun:
    """What a run came to: counts by outcome, and how many tests were skipped for which reason."""

    counts: Mapping[str, int]
    skips: Mapping[str, int]


def read(driver: str, stdout: str, folder: Path, unasked: str = "not asked for") -> SanityRun:
    """Reads a run's outcome, and keeps its closing line and its skips for the end of ours.

    `unasked` is why tests were left out by our own choice; each of the others gives its reason itself.
    """
    counts = {name: int(number) for number, name in _COUNT.findall(stdout)}
    skips = _skips(json.loads((folder / REPORT).read_text(encoding="utf-8")), unasked)
    say(f"csi-sanity {driver}: " + " | ".join(f"{number} {name}" for name, number in counts.items()))
    say(*(f"  {number} skipped: {reason}" for reason, number in sorted(skips.items())))
    assert sum(skips.values()) == counts["Pending"] + counts["Skipped"], "a skip without a reason"
    return SanityRun(counts, skips)


def _skips(suites: Sequence[Mapping[str, object]], unasked: str) -> Mapping[str, int]:
    reasons: Counter[str] = Counter()
    for suite in suites:
        specs = suite["SpecReports"]
        assert isinstance(specs, list)
        for spec in specs:
            if spec["State"] == "pending":
                reasons[f"{spec['LeafNodeText']}: pending upstream"] += 1
            elif spec["State"] == "skipped":
                groups = " ".join(spec["ContainerHierarchyTexts"][-1:])
                reasons[(spec.get("Failure") or {}).get("Message") or f"{groups}: {unasked}"] += 1
    return reasons
