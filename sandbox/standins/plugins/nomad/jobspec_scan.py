"""What can be told of an HCL2 jobspec without evaluating it: variables it declares, functions it calls."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

_HEREDOC = re.compile(r"<<-?([^\W\d][\w-]*)[ \t]*\r?\n")
_CALL = re.compile(r"(?<![\w.-])([^\W\d][\w-]*)\s*\(")
_VARIABLE = re.compile(r"(?<![\w.-])variable(?:\s*\"([^\"]+)\"|\s+([^\W\d][\w-]*))\s*\{")
_VARIABLES = re.compile(r"(?<![\w.-])variables\s*\{")
_ASSIGNMENT = re.compile(r"([^\W\d][\w-]*)\s*=(?![=>])")
_INK = re.compile(r"[^\n]")
# Runs of characters that mean nothing where they are; the next one after them may.
_PLAIN_CODE = re.compile(r'[^"#/<{}]+')
_PLAIN_QUOTED = re.compile(r'[^"\\$%]+|.', re.DOTALL)
_PLAIN_HEREDOC = re.compile(r"\n|[^\n][^$%\n]*")


@dataclass
class _Literal:
    """A string or heredoc being read: its text is no code, the templates inside it are."""

    heredoc: str = ""


@dataclass
class _Template:
    """A `${` or `%{` sequence being read, and the depth of braces inside it."""

    depth: int = 0


@functools.lru_cache(maxsize=8)
def code_only(text: str) -> str:
    """The text with comments and literal characters blanked out; quotes, positions and templates' code stay."""
    out, done = [], 0
    for start, end in _blank_spans(text):
        out += [text[done:start], _INK.sub(" ", text[start:end])]
        done = end
    return "".join(out) + text[done:]


def called_functions(text: str) -> set[str]:
    """Names that are followed by an opening parenthesis in code."""
    return set(_CALL.findall(code_only(text)))


def declared_variables(text: str) -> set[str]:
    """Names of the `variable` blocks, and of the attributes of `variables` blocks."""
    code = code_only(text)
    names = set()
    for found in _VARIABLE.finditer(text):
        if code.startswith("variable", found.start()):
            names.add(found[1] or found[2])
    for found in _VARIABLES.finditer(code):
        names |= set(_top_assignments(code, found.end()))
    return names


def _top_assignments(code: str, start: int) -> Iterator[str]:
    """Names assigned directly inside the braces that open before `start`."""
    depth, position = 1, start
    while position < len(code) and depth:
        char = code[position]
        found = _ASSIGNMENT.match(code, position) if depth == 1 else None
        if found:
            yield found[1]
            position = found.end()
            continue
        depth += (char in "{[(") - (char in "}])")
        position += 1


def _blank_spans(text: str) -> Iterator[tuple[int, int]]:
    """Spans of `text` that are comments or the characters of literals."""
    stack: list[_Literal | _Template] = []
    position = 0
    while position < len(text):
        top = stack[-1] if stack else None
        if isinstance(top, _Literal):
            length, blank = _literal_step(text, position, top, stack)
        else:
            length, blank = _code_step(text, position, top, stack)
        if blank:
            yield position, position + length
        position += length


def _code_step(text: str, at: int, top: _Template | None, stack: list[_Literal | _Template]) -> tuple[int, bool]:
    """Reads one piece of code at `at`: its length, and whether it is to be blanked."""
    if run := _PLAIN_CODE.match(text, at):
        return len(run[0]), False
    char = text[at]
    if char == "#" or text.startswith("//", at):
        return _until(text, at, "\n"), True
    if text.startswith("/*", at):
        return min(_until(text, at + 2, "*/") + 4, len(text) - at), True
    if char == '"':
        stack.append(_Literal())
    elif text.startswith("<<", at) and (found := _HEREDOC.match(text, at)):
        stack.append(_Literal(found[1]))
        return len(found[0]), True
    elif top and char == "{":
        top.depth += 1
    elif top and char == "}":
        top.depth -= 1
        if top.depth < 0:
            stack.pop()
    return 1, False


def _literal_step(text: str, at: int, top: _Literal, stack: list[_Literal | _Template]) -> tuple[int, bool]:
    """Reads one piece of a literal at `at`: its length, and whether it is to be blanked."""
    if text.startswith(("$${", "%%{"), at):
        return 3, True
    if text.startswith(("${", "%{"), at):
        stack.append(_Template())
        return 2, True
    if top.heredoc:
        return _heredoc_step(text, at, top.heredoc, stack)
    if text[at] == '"':
        stack.pop()
        return 1, False
    if text[at] == "\\":
        return min(2, len(text) - at), True
    return _run(_PLAIN_QUOTED, text, at), True


def _heredoc_step(text: str, at: int, marker: str, stack: list[_Literal | _Template]) -> tuple[int, bool]:
    starts_line = at == 0 or text[at - 1] == "\n"
    end = re.compile(rf"[ \t]*{re.escape(marker)}[ \t]*(?=\r?\n|\Z)").match(text, at) if starts_line else None
    if not end:
        return _run(_PLAIN_HEREDOC, text, at), True
    stack.pop()
    return max(1, len(end[0])), True


def _run(plain: re.Pattern[str], text: str, at: int) -> int:
    found = plain.match(text, at)
    return len(found[0]) if found else 1


def _until(text: str, at: int, mark: str) -> int:
    found = text.find(mark, at)
    return (len(text) if found < 0 else found) - at
