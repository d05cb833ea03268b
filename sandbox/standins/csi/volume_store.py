"""What a controller of folders or datasets keeps: the shape in which stores tell it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True)
class Source:
    """What a volume was filled from."""

    kind: Literal["snapshot", "volume"]
    id: str


@dataclass(frozen=True)
class Volume:
    """A volume that exists."""

    volume_id: str
    name: str
    capacity_bytes: int
    source: Source | None = None


@dataclass(frozen=True)
class Snapshot:
    """A snapshot that exists."""

    snapshot_id: str
    name: str
    volume_id: str
    size_bytes: int
    created: float
    """Seconds since 1970."""


class Store(Protocol):
    """Holds volumes and snapshots; each method may raise CsiError, CommandError or OSError."""

    def volumes(self) -> list[Volume]:
        """All volumes, in an order that stays."""

    def snapshots(self) -> list[Snapshot]:
        """All snapshots, in an order that stays."""

    def create(self, name: str, capacity_bytes: int, source: Source | None) -> Volume:
        """Makes a volume of a name that no volume has."""

    def delete(self, volume: Volume) -> None:
        """Removes a volume and what is in it."""

    def resize(self, volume: Volume, capacity_bytes: int) -> None:
        """Records and, where the store can, enforces another capacity."""

    def create_snapshot(self, name: str, volume: Volume) -> Snapshot:
        """Copies a volume's content under a name that no snapshot has."""

    def delete_snapshot(self, snapshot: Snapshot) -> None:
        """Removes a snapshot."""

    def available_bytes(self) -> int:
        """Room for further volumes."""
