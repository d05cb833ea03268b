"""Markdown that text from a pull request cannot break out of."""

import re
from collections.abc import Iterable, Sequence


def code(text: str) -> str:
    """Text as inline code, fit for a table's cell; empty stays empty."""
    line = " ".join(text.split())
    if not line:
        return ""
    fence = "`" * (_longest_run(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    # A pipe ends a cell even inside code.
    return f"{fence}{pad}{line}{pad}{fence}".replace("|", "\\|")


def prose(text: str) -> str:
    """Text in which code marked by backticks stays code and everything else is harmless."""
    parts = re.split(r"(`[^`]+`)", " ".join(text.split()))
    return "".join(part if part.startswith("`") else _escaped(part) for part in parts)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; cells must be fit for one (`code`, `prose`)."""
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows))


def block(language: str, lines: Sequence[str]) -> list[str]:
    """A block of code."""
    fence = "`" * max(3, max((_longest_run(line) for line in lines), default=0) + 1)
    return [f"{fence}{language}", *lines, fence]


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)


def _escaped(text: str) -> str:
    # An @ would notify people, a # would link to an unrelated thread.
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"([\\*_\[\]|~])", r"\\\1", text)
    return re.sub(r"([@#])(?=\w)", lambda match: f"{match.group(1)}<!-- -->", text)
