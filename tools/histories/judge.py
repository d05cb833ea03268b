"""The call of the judge, which shares no code with what writes histories: tools/judge/."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.toolchain import JUDGE, ensure_built

_TIMEOUT_S: Final = 1800


@dataclass(frozen=True)
class Verdict:
    """What the judge says of one history."""

    right: bool
    text: str
    counts: Counter[str]
    """Operations by outcome, and reads that were answered."""


def judge(history: Path) -> Verdict:
    """Has a history judged. One that the judge cannot use is not right."""
    command = [str(ensure_built(JUDGE)), "-json", str(history)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    if not done.stdout:
        return Verdict(False, done.stderr.strip() or f"the judge ended with {done.returncode}", Counter())
    said = json.loads(done.stdout)
    counts = Counter({**said["operations"], "reads": said["reads"]})
    return Verdict(done.returncode == 0, said["text"].rstrip(), counts)
