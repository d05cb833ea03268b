"""Finds secrets in bytes, also where they were encoded. What is found is named, never shown."""

import base64
import json
import re
import urllib.parse
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

SHORTEST: Final = 6
"""Characters below which a value is found everywhere, by chance."""


@dataclass(frozen=True)
class Secret:
    """A value that must be found nowhere, and what it is called."""

    name: str
    value: str


@dataclass(frozen=True)
class Piece:
    """Something that is looked through: a kind of place, which one, and what it holds."""

    kind: str
    place: str
    content: bytes


@dataclass(frozen=True)
class Finding:
    """A secret that was found."""

    kind: str
    place: str
    secret: str
    encoding: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.secret} ({self.encoding}) in {self.place}"


def _json(value: str) -> list[str]:
    once = json.dumps(value)[1:-1]
    return [once, json.dumps(value, ensure_ascii=False)[1:-1], json.dumps(once)[1:-1]]


def _url(value: str) -> list[str]:
    quoted = urllib.parse.quote(value, safe="")
    return [quoted, urllib.parse.quote(value), urllib.parse.quote_plus(value), quoted.lower()]


def _hex(value: str) -> list[str]:
    plain = value.encode().hex()
    return [plain, plain.upper(), value.encode().hex(":"), value.encode().hex(" ")]


def _base64(value: str) -> list[str]:
    """The characters of base64 that the value alone decides, for each of the three ways it can lie in a longer text."""
    found = []
    raw = value.encode()
    for before in range(3):
        whole = len(raw) - (-before % 3)
        inner = raw[-before % 3 :][: whole - whole % 3]
        found += [base64.b64encode(inner).decode(), base64.urlsafe_b64encode(inner).decode()]
    return found


ENCODINGS: Final[dict[str, Callable[[str], list[str]]]] = {
    "plain": lambda value: [value],
    "JSON": _json,
    "URL": _url,
    "hex": _hex,
    "base64": _base64,
}


class Scanner:
    """Looks for a set of secrets.

    Raises:
        ValueError: a secret is too short to be told from chance.
    """

    def __init__(self, secrets: Iterable[Secret]) -> None:
        self._meaning: dict[bytes, tuple[str, str]] = {}
        for secret in secrets:
            if len(secret.value) < SHORTEST:
                raise ValueError(f"{secret.name} has less than {SHORTEST} characters: it cannot be looked for")
            for name, encode in ENCODINGS.items():
                for form in encode(secret.value):
                    if len(form) >= SHORTEST:
                        self._meaning.setdefault(form.encode(), (secret.name, name))
        if not self._meaning:
            raise ValueError("there is no secret to look for")
        longest_first = sorted(self._meaning, key=len, reverse=True)
        self._pattern = re.compile(b"|".join(map(re.escape, longest_first)))

    def findings(self, pieces: Iterable[Piece]) -> Iterator[Finding]:
        """Each secret once for each place and encoding."""
        for piece in pieces:
            known = {self._meaning[match[0]] for match in self._pattern.finditer(piece.content)}
            for secret, encoding in sorted(known):
                yield Finding(piece.kind, piece.place, secret, encoding)
