"""The project's Markdown pages: their headings, their links, and where those lead."""

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TOP = Path(__file__).parents[2]

_FENCE = re.compile(r"^\s*```.*?^\s*```\s*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!\\)\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(<?([^()\s>]+(?:\([^()\s]*\)[^()\s]*)?)>?\)")
_HEADING = re.compile(r"^#{1,6} +(.+?)\s*#*$", re.MULTILINE)


@cache
def files(*patterns: str) -> tuple[Path, ...]:
    """The files that belong to the project, also those that are not committed yet."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", *patterns],
        cwd=TOP,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return tuple(sorted(TOP / name for name in listed.split("\0") if name and (TOP / name).is_file()))


def pages() -> tuple[Path, ...]:
    """Every page of Markdown."""
    return files("*.md")


def prose(text: str) -> str:
    """A page's text without its code blocks, in which a bracket is no link and `#` no heading."""
    return _FENCE.sub("", text)


def anchors(text: str) -> set[str]:
    """The fragments that GitHub gives a page's headings: the second one of a name ends in -1."""
    seen: dict[str, int] = {}
    found = set()
    for heading in _HEADING.findall(prose(text)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        number = seen.get(slug, 0)
        seen[slug] = number + 1
        found.add(f"{slug}-{number}" if number else slug)
    return found


def links(text: str) -> Iterator[str]:
    """The targets of a page's links and pictures, in their order; those within `code` are none."""
    yield from _LINK.findall(re.sub(r"`[^`\n]*`", "", prose(text)))


def dead_links(page: Path, top: Path = TOP) -> list[str]:
    """The links of a page to files and headings of the project that are not there. Other addresses are not asked."""
    found = []
    for link in links(page.read_text(encoding="utf-8")):
        if re.match(r"[a-z][a-z0-9+.-]*:", link):
            continue
        path, _, fragment = link.partition("#")
        target = (page.parent / path).resolve() if path else page.resolve()
        if not target.is_relative_to(top.resolve()) or not target.exists():
            found.append(f"{link}: no such file")
        elif fragment and target.suffix == ".md" and fragment not in anchors(target.read_text(encoding="utf-8")):
            found.append(f"{link}: {target.name} has no such heading")
    return found


def dead_mentions(text: str, top: Path = TOP) -> list[str]:
    """The pages of docs/, and headings of them, that a message or a comment names and that are not there."""
    found = []
    for path, fragment in re.findall(r"(?<![\w/.-])(docs/[\w./-]+\.md)(?:#([\w-]+))?", text):
        if not (top / path).is_file():
            found.append(f"{path}: no such file")
        elif fragment and fragment not in anchors((top / path).read_text(encoding="utf-8")):
            found.append(f"{path}#{fragment}: no such heading")
    return found


def reachable(start: Path) -> set[Path]:
    """The pages that links lead to from a page, however many it takes; a link to a folder leads to all in it."""
    known, ahead = set(), [start.resolve()]
    while ahead:
        page = ahead.pop()
        if page in known:
            continue
        known.add(page)
        for link in links(page.read_text(encoding="utf-8")):
            path = link.partition("#")[0]
            target = (page.parent / path).resolve()
            if not path:
                continue
            if target.is_dir():
                ahead += target.glob("*.md")
            elif target.suffix == ".md" and target.exists():
                ahead.append(target)
    return known
