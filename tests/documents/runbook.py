"""The entries of docs/runbook.md, and the tests that they name."""

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.documents.pages import TOP, prose

PAGE = TOP / "docs" / "runbook.md"

_MARK = re.compile(r"<!--\s*test:\s*(.+?)\s*-->")
# A heading and what stands under it, up to the next heading.
_SECTION = re.compile(r"^(#{2,6}) +(.+)\n((?:(?!#{1,6} ).*\n?)*)", re.MULTILINE)
_RULE = re.compile(r"\|(\s*:?-+:?\s*\|)+\s*")


@dataclass(frozen=True)
class Entry:
    """A row of a table, or a section without one: what it is called, and the tests that it names."""

    title: str
    tests: tuple[str, ...]


def entries(text: str) -> list[Entry]:
    """Every entry of a page. A section that only holds others, or a table, is none itself."""
    found = []
    for _, title, body in _SECTION.findall(prose(text)):
        rows = _rows(body)
        found += [Entry(f"{title}: {row.split('|')[1].strip()[:60]}", _tests(row)) for row in rows]
        if not rows and body.strip():
            found.append(Entry(title, _tests(body)))
    return found


def _rows(body: str) -> list[str]:
    lines = [line for line in body.splitlines() if line.startswith("|")]
    below = [number for number, line in enumerate(lines) if _RULE.fullmatch(line)]
    heads = {number - 1 for number in below} | set(below)
    return [line for number, line in enumerate(lines) if number not in heads]


def _tests(text: str) -> tuple[str, ...]:
    return tuple(_MARK.findall(text))


def lacking(test: str, top: Path = TOP) -> str:
    """Why pytest would not find a test, `FILE::FUNCTION` or `FILE::FUNCTION[CASE]`; empty if it would."""
    named = re.fullmatch(r"(tests/[\w/]+/test_\w+\.py)::(test_\w+)(?:\[(.+)\])?", test)
    if not named:
        return "it is not FILE::FUNCTION or FILE::FUNCTION[CASE] below tests/"
    file, function, case = named.groups()
    if not (top / file).is_file():
        return f"there is no {file}"
    functions, words = _module(top / file)
    if function not in functions:
        return f"{file} has no {function}"
    return f"{file} has no case {case}" if case and case not in words else ""


@cache
def _module(path: Path) -> tuple[frozenset[str], frozenset[str]]:
    """The functions of a module, and the words a case of it may have as its id: texts, and names of functions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return functions, functions | texts
