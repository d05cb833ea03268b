"""Dumps on a volume, and the notes there of their copies in S3.

A note says of a dump where its checked copy is, its SHA-256 and its ETag, also of a dump that is on the volume no more.
S3's permissions let nobody write one: by the notes a restore knows what this stack has uploaded.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from nomad_stateful.databases.dumps import is_dump

_NOTES = ".uploaded"
_MOST_NOTES = 1000


@dataclass(frozen=True)
class Note:
    """What is noted of a dump's copy."""

    place: str
    """As s3://BUCKET/KEY."""
    sha256: str
    etag: str
    """Empty in notes of earlier releases."""


class Dumps:
    """A folder of dumps."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._notes = folder / _NOTES

    def names(self) -> list[str]:
        """Returns the names of the dumps, the newest first."""
        return sorted((path.name for path in self.folder.iterdir() if is_dump(path.name)), reverse=True)

    def note(self, name: str, place: str) -> Note | None:
        """Returns the note of a dump's copy at a place; None where that one is not noted."""
        try:
            words = (self._notes / name).read_text(encoding="utf-8").split()
        except FileNotFoundError:
            return None
        # Place, SHA-256, ETag.
        if words[:1] != [place] or len(words) < 2:
            return None
        return Note(place, words[1], " ".join(words[2:]))

    def write(self, name: str, note: Note) -> None:
        """Notes a copy, at once or not at all."""
        self._notes.mkdir(exist_ok=True)
        new = self._notes / f"{name}.new"
        with new.open("w", encoding="utf-8") as file:
            file.write(f"{note.place} {note.sha256} {note.etag}\n")
            file.flush()
            os.fsync(file.fileno())
        new.replace(self._notes / name)

    def forget(self) -> None:
        """Removes the oldest notes, of which a thousand are kept."""
        if self._notes.is_dir():
            for path in sorted(self._notes.iterdir(), reverse=True)[_MOST_NOTES:]:
                path.unlink()
