"""One defect: what a tired maintainer would break, as text that takes the place of other text."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

DEFECTS: Final = Path(__file__).parent / "defects"


class StaleError(Exception):
    """The code is another one than when the defect was written."""


@dataclass(frozen=True)
class Change:
    """A text of one file, and what takes its place."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Defect:
    """Changes that break one promise."""

    name: str
    breaks: str
    """The promise, and what becomes of it."""
    changes: Sequence[Change]
    tests: Sequence[str]
    """Paths of tests that are tried first."""
    faults: Sequence[str] = ()
    """Names of `make faults`."""
    database: str = "mysql"
    """Of the stacks that the faults hit."""

    @classmethod
    def of(cls, name: str, described: Mapping[str, Any]) -> Defect:
        """Returns a defect by its file."""
        changes = [Change(**one) for one in described["change"]]
        others = {key: value for key, value in described.items() if key not in ("breaks", "change")}
        return cls(name, described["breaks"], changes, **{"tests": [], **others})

    def texts(self, folder: Path) -> dict[Path, tuple[str, str]]:
        """Returns the files that change in a project's folder, each before and after. Raises StaleError."""
        texts: dict[Path, tuple[str, str]] = {}
        for change in self.changes:
            path = folder / change.file
            before = path.read_text(encoding="utf-8") if path.is_file() else ""
            first, now = texts.get(path, (before, before))
            if (times := now.count(change.old)) != 1:
                raise StaleError(
                    f"defect {self.name} does not apply any more: its old text is {times} times in {change.file}, and "
                    f"has to be there once. Give tools/planted/defects/{self.name}.toml the text that is there now, "
                    f"with the same mistake in its new text, and run `make planted NAMES={self.name}`"
                )
            texts[path] = (first, now.replace(change.old, change.new))
        return texts

    @contextmanager
    def planted(self, folder: Path) -> Iterator[None]:
        """While this lasts, a project's folder has the defect. Raises StaleError."""
        texts = self.texts(folder)
        try:
            for path, (_, after) in texts.items():
                path.write_text(after, encoding="utf-8")
            yield
        finally:
            for path, (before, _) in texts.items():
                path.write_text(before, encoding="utf-8")


def every_defect() -> dict[str, Defect]:
    """Returns all defects, by name."""
    read = {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(DEFECTS.glob("*.toml"))}
    return {name: Defect.of(name, described) for name, described in read.items()}
