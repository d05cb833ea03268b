"""A preview by the Pulumi engine, with everything a report needs of it."""

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tools.preview_report.document import NoReportError


@dataclass(frozen=True)
class Recorded:
    """What the engine printed: the document, and the event log, which alone has the findings of policies."""

    document: str
    events: str


def run_preview(stack: str, project: Path, policy_packs: list[Path]) -> Recorded:
    """Previews the stack with the program in the folder; what Pulumi says besides goes to stderr.

    Raises:
        NoReportError: Pulumi could not even start.
    """
    pulumi = shutil.which("pulumi")
    if pulumi is None:
        raise NoReportError("pulumi is not on PATH: install it, or read a preview from a file with --preview")
    with tempfile.TemporaryDirectory(prefix="preview-report-") as folder:
        events = Path(folder) / "events"
        packs = [word for pack in policy_packs for word in ("--policy-pack", str(pack))]
        done = subprocess.run(
            [
                *(pulumi, "preview", "--json", "--diff", "--non-interactive", "--stack", stack),
                *(*packs, "--event-log", str(events)),
            ],
            cwd=project,
            # The event log is a command for debugging; the streaming form of --json is another document.
            env={**os.environ, "PULUMI_DEBUG_COMMANDS": "1", "PULUMI_ENABLE_STREAMING_JSON_PREVIEW": "0"},
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            check=False,
        )
        recorded = events.read_text(encoding="utf-8") if events.is_file() else ""
    start = done.stdout.find("{")
    if start < 0:
        raise NoReportError(f"pulumi preview printed no document (exit code {done.returncode}); its message is above")
    return Recorded(done.stdout[start:], recorded)
