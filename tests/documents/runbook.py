"""The entries of docs/runbook.md, and the tests that runbook.toml names for them."""

import ast
import re
from functools import cache
from pathlib import Path

from tests.documents.pages import TOP, prose

PAGE = TOP / "docs" / "runbook.md"
TESTS = Path(__file__).with_name("runbook.toml")

# A heading and what stands under it, up to the next heading.
_SECTION = re.compile(r"^(#{2,6}) +(.+)\n((?:(?!#{1,6} ).*\n?)*)", re.MULTILINE)
_RULE = re.compile(r"\|(\s*:?-+:?\s*\|)+\s*")


def entries(text: str) -> list[tuple[str, str]]:
    """Every entry of a page: its section, and its row's first cell, which is empty for a section without a table.

    A section that only holds others is none itself.
    """
    listed = []
    for _, title, body in _SECTION.findall(prose(text)):
        rows = _rows(body)
        listed += [(title, row.split("|")[1].strip()) for row in rows]
        if not rows and body.strip():
            listed.append((title, ""))
    return listed


def _rows(body: str) -> list[str]:
    lines = [line for line in body.splitlines() if line.startswith("|")]
    below = [number for number, line in enumerate(lines) if _RULE.fullmatch(line)]
    heads = {number - 1 for number in below} | set(below)
    return [line for number, line in enumerate(lines) if number not in heads]


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
