"""Measurements as CSV: one line for each row, one column for each field."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    T = TypeVar("T", bound=DataclassInstance)
else:
    T = TypeVar("T")


def write(path: Path, kind: type[T], rows: Iterable[T], digits: int) -> None:
    """All rows, each of the dataclass `kind`; a float gets so many digits behind the point."""
    names = [field.name for field in fields(kind)]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([_shown(getattr(row, name), digits) for name in names] for row in rows)


def read(path: Path, kind: type[T]) -> list[T]:
    """What `write` wrote; nothing where there is no file. Fields are text or numbers.

    A column that a file does not have yet gets the field's default.
    """
    if not path.is_file():
        return []
    types = get_type_hints(kind)
    with path.open(encoding="utf-8", newline="") as file:
        found = csv.DictReader(file)
        names = [field.name for field in fields(kind) if field.name in (found.fieldnames or ())]
        return [kind(**{name: types[name](row[name]) for name in names}) for row in found]


def _shown(value: Any, digits: int) -> str:
    return f"{value:.{digits}f}" if isinstance(value, float) else str(value)
