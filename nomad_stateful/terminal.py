"""Text with a little colour, for terminals; and a terminal's text as a picture (SVG)."""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal, TextIO

from nomad_stateful.visible import visible

Style = Literal["", "bold", "dim", "good", "warn", "bad"]
_CODES: dict[Style, str] = {"bold": "1", "dim": "2", "good": "32", "warn": "33", "bad": "1;31"}
_STYLES = {code: style for style, code in _CODES.items()}
_ESCAPE = re.compile("\033\\[([0-9;]*)m")


@dataclass(frozen=True)
class Span:
    """Some text in one style."""

    text: str
    style: Style = ""


Line = Sequence[Span]
Cell = Span | str


def takes_colour(stream: TextIO, environ: dict[str, str] | None = None) -> bool:
    """Tells whether a stream is a terminal that shows colours: NO_COLOR and CLICOLOR_FORCE decide before it.

    https://no-color.org, https://bixense.com/clicolors
    """
    env = os.environ if environ is None else environ
    if env.get("NO_COLOR"):
        return False
    return bool(env.get("CLICOLOR_FORCE")) or (stream.isatty() and env.get("TERM") != "dumb")


def rendered(lines: Iterable[Line], *, colour: bool) -> str:
    """Returns the text, with escape sequences where colours are shown, and no others."""
    return "\n".join("".join(_shown(span, colour=colour) for span in line).rstrip() for line in lines)


def _shown(span: Span, *, colour: bool) -> str:
    text = visible(span.text)
    return f"\033[{_CODES[span.style]}m{text}\033[0m" if colour and span.style else text


def table(rows: Sequence[Sequence[Cell]]) -> list[Line]:
    """Returns rows of one length in columns as wide as their widest cell; the first row is the heading."""
    spans = [[cell if isinstance(cell, Span) else Span(cell) for cell in row] for row in rows]
    cells = [[Span(visible(span.text), span.style) for span in row] for row in spans]
    widths = [max(len(cell.text) for cell in column) for column in zip(*cells, strict=True)]
    lines: list[Line] = []
    for number, row in enumerate(cells):
        styled = row if number else [Span(cell.text, "dim") for cell in row]
        padded = [Span(cell.text.ljust(width + 2), cell.style) for cell, width in zip(styled, widths, strict=True)]
        lines.append([*padded[:-1], Span(padded[-1].text.rstrip(), padded[-1].style)])
    return lines


def parsed(text: str) -> list[Line]:
    """Returns the lines of a text with the escape sequences that are written here."""
    lines: list[Line] = []
    for line in text.splitlines():
        spans: list[Span] = []
        style, at = "", 0
        for found in _ESCAPE.finditer(line):
            spans.append(Span(line[at : found.start()], _style(style)))
            style, at = found[1], found.end()
        spans.append(Span(line[at:], _style(style)))
        lines.append([span for span in spans if span.text])
    return lines


def _style(code: str) -> Style:
    return _STYLES.get(code, "")


# Of a monospaced font of 13 pixels; textLength holds other fonts to it.
_WIDTH, _HEIGHT, _SIZE, _MARGIN, _BAR = 7.8, 18, 13, 14, 26
_COLOURS = {"": "#d7dae0", "bold": "#ffffff", "dim": "#8b919c", "good": "#7fd88f", "warn": "#e5c07b", "bad": "#ff6b6b"}
_FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,monospace"


def svg(lines: Sequence[Line], title: str) -> str:
    """Returns a picture of a terminal that shows these lines; no font, script or address outside it is named."""
    columns = max([len(title) + 8, *(sum(len(span.text) for span in line) for line in lines)])
    width, height = round(columns * _WIDTH + 2 * _MARGIN), _BAR + len(lines) * _HEIGHT + 2 * _MARGIN
    shown = "\n".join(
        text for number, line in enumerate(lines) if (text := _text(line, _BAR + _MARGIN + (number + 1) * _HEIGHT - 5))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{escape(title)}">\n'
        f'<rect width="{width}" height="{height}" rx="8" fill="#1d2027"/>\n'
        f'<g font-family="{_FONT}" font-size="{_SIZE}" xml:space="preserve">\n'
        f'<text x="{_MARGIN}" y="{_BAR}" fill="{_COLOURS["dim"]}">$ {escape(title)}</text>\n'
        f"{shown}\n</g>\n</svg>\n"
    )


def _text(line: Line, y: int) -> str:
    spans, at = [], 0
    for span in line:
        bare = span.text.strip()
        if bare:
            column = at + len(span.text) - len(span.text.lstrip())
            weight = ' font-weight="bold"' if span.style in ("bold", "bad") else ""
            spans.append(
                f'<tspan x="{_MARGIN + column * _WIDTH:.1f}" textLength="{len(bare) * _WIDTH:.1f}" '
                f'fill="{_COLOURS[span.style]}"{weight}>{escape(bare)}</tspan>'
            )
        at += len(span.text)
    return f'<text y="{y}">{"".join(spans)}</text>' if spans else ""
