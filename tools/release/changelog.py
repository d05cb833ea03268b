"""CHANGELOG.md by version, as https://keepachangelog.com has it: ``python -m tools.release.changelog`` checks it."""

import re
import sys
from pathlib import Path

from nomad_stateful.version import VERSION

PAGE = Path(__file__).parents[2] / "CHANGELOG.md"
UNRELEASED = "Unreleased"
KINDS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
_RELEASE = re.compile(r"^## \d+\.\d+\.\d+ - \d{4}-\d\d-\d\d$")


def sections(changelog: str) -> dict[str, str]:
    """Returns the text of each version's section, and of Unreleased."""
    found = re.findall(r"^## (\S+)[^\n]*\n(.*?)(?=^## |\Z)", changelog, re.DOTALL | re.MULTILINE)
    return {name: text.strip() for name, text in found}


def faults(changelog: str, version: str) -> list[str]:
    """Returns what is wrong with a changelog of a project that has a version: a line each."""
    by_version = sections(changelog)
    missing = [name for name in (UNRELEASED, version) if name not in by_version]
    wrong = [f"CHANGELOG.md has no section {name}: write `## {_heading(name)}`" for name in missing]
    _, _, changes = changelog.partition(f"\n## {UNRELEASED}\n")
    first = len(changelog.splitlines()) - len(changes.splitlines()) + 1
    for number, line in enumerate(changes.splitlines(), first):
        if not _is_in_form(line):
            wrong.append(f"CHANGELOG.md:{number}: {line[:60]!r} is no heading and no change on a line of its own")
    return wrong


def _heading(name: str) -> str:
    return name if name == UNRELEASED else f"{name} - YYYY-MM-DD"


def _is_in_form(line: str) -> bool:
    of_a_kind = line.startswith("### ") and line[4:] in KINDS
    return not line or of_a_kind or line.startswith("- ") or _RELEASE.match(line) is not None


def main() -> int:
    """Prints what is wrong with the project's changelog, and returns 1 where something is."""
    wrong = faults(PAGE.read_text(encoding="utf-8"), VERSION)
    for line in wrong:
        print(f"error: {line}", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
