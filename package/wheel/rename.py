"""One name for all of it in a wheel: `components.mysql` becomes `nomad_stateful.components.mysql`."""

import io
import tokenize
from collections.abc import Iterator
from pathlib import Path

PARTS = ("components", "drivers", "jobs", "package", "provider")
"""The packages that a wheel has; other programs must not meet such common names at the top."""
PREFIX = "nomad_stateful"
DATA = ".nomad.hcl"
"""What the packages have beside Python."""


def shipped(top: Path) -> Iterator[tuple[str, str]]:
    """Path in the wheel and text of every file."""
    yield f"{PREFIX}/__init__.py", '"""Components and resources for stateful workloads on Nomad."""\n'
    yield f"{PREFIX}/py.typed", ""
    for path in sorted(path for part in PARTS for path in (top / part).rglob("*") if _belongs(path, top)):
        text = path.read_text(encoding="utf-8")
        yield f"{PREFIX}/{path.relative_to(top).as_posix()}", renamed(text) if path.suffix == ".py" else text


def _belongs(path: Path, top: Path) -> bool:
    return path.name.endswith((".py", DATA)) and not path.is_relative_to(top / "package/wheel")


def renamed(source: str) -> str:
    """Python source whose absolute imports of the parts have the prefix; every line stays where it is."""
    lines = source.splitlines(keepends=True)
    for line, column, statement in _imports(source):
        text = lines[line - 1]
        rest = text[column:]
        if statement == "from":
            changed = f"{PREFIX}.{rest}"
        elif rest.split("#", 1)[0].strip() in PARTS:
            # Binds the same name as before.
            lines[line - 1] = text.replace(f"import {rest.strip()}", f"from {PREFIX} import {rest.strip()}", 1)
            continue
        else:
            raise ValueError(f"line {line}: `{text.strip()}` would bind another name. Write `from ... import ...`")
        lines[line - 1] = text[:column] + changed
    return "".join(lines)


def _imports(source: str) -> Iterator[tuple[int, int, str]]:
    """Where the name of a part stands that a statement imports (line, column), and the statement's first word."""
    before = ""
    starts = True
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME and before and token.string in PARTS:
            yield token.start[0], token.start[1], before
        before = token.string if starts and token.string in ("from", "import") else ""
        starts = token.type in (tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT) or (
            starts and token.type == tokenize.COMMENT
        )
