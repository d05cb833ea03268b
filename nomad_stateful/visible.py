"""Texts of others, as AWS, Nomad and databases have them, for a terminal: it would obey their control characters."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

_LINES = "\n\t"


def visible(text: str) -> str:
    """Returns a text with its control characters spelled out; also line breaks, so that it stays one line."""
    return _spelled(text, "")


def visible_lines(text: str) -> str:
    """Returns a text of several lines with all other control characters spelled out."""
    return _spelled(text, _LINES)


def _spelled(text: str, kept: str) -> str:
    if text.isprintable():
        return text
    return "".join(char if char in kept or char.isprintable() else repr(char)[1:-1] for char in text)


class _VisibleStream:
    """A stream that takes texts of several lines, and spells out what a terminal would obey."""

    def __init__(self, stream: TextIO) -> None:
        self.obeyed = stream

    def write(self, text: str) -> int:
        self.obeyed.write(visible_lines(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.obeyed, name)


@contextmanager
def visible_output() -> Iterator[None]:
    """A context in which standard output and error take no control characters, whoever wrote what is printed."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast("TextIO", _VisibleStream(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def obeyed(stream: TextIO) -> TextIO:
    """Returns the stream that a terminal obeys, for colours of one's own around texts that are visible."""
    return stream.obeyed if isinstance(stream, _VisibleStream) else stream
