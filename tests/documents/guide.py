"""The command blocks of docs/guide.md, each with what its page says of how it can be run."""

import re
from dataclasses import dataclass

from tests.documents.pages import TOP

PAGE = TOP / "docs" / "guide.md"

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"<!-- (run|account): (.+?) -->")


@dataclass(frozen=True)
class Block:
    """One block of commands, as a shell runs it."""

    kind: str
    """`run` for what the sandbox runs too, `account` for what needs one; empty where the page does not say."""
    name: str
    """What it is called, or why it needs an account."""
    script: str


def blocks() -> list[Block]:
    """The page's blocks in their order. A block's mark is the only one since the block before it."""
    text, found, since = PAGE.read_text(encoding="utf-8"), [], 0
    for block in _BLOCK.finditer(text):
        marks = _MARK.findall(text[since : block.start()])
        kind, name = marks[0] if len(marks) == 1 else ("", "")
        found.append(Block(kind, name, _script(block[1])))
        since = block.end()
    return found


def script(name: str) -> str:
    """The commands of the block that the sandbox runs under this name."""
    return next(one.script for one in blocks() if (one.kind, one.name) == ("run", name))


def _script(shown: str) -> str:
    """A block without its prompts and without the remarks behind its commands."""
    lines = [
        line.removeprefix("$ ") if line.startswith("$ ") else line.removeprefix("  ") for line in shown.splitlines()
    ]
    return "\n".join(re.sub(r"\s{3,}# .*$", "", line) for line in lines)
