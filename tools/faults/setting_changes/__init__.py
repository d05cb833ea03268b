"""Changes of a stack's settings, drawn at random: each fits the settings it is drawn for, and says what it is."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Final

from tools.faults.setting_changes import cluster, consumers, volumes
from tools.faults.setting_changes.model import ELSEWHERE, SET, SPARE, Change, Draw, Kind, new_volume, program
from tools.faults.stack_settings import MissingError, StackSettings

__all__ = ["ELSEWHERE", "KINDS", "Change", "made", "sequence"]

KINDS: Final[dict[Kind, int]] = {**consumers.KINDS, **volumes.KINDS, **cluster.KINDS}
"""Each kind of change, and how often it is drawn compared with the others."""

_AT_ONCE: Final = (1, 1, 1, 1, 1, 1, 2, 3)


def sequence(settings: StackSettings, draw: Draw, length: int) -> list[Change]:
    """So many changes, one after the other: the first adds volumes and programs for the others to work on."""
    at, drawn = settings.copy(), [_furnished(draw)]
    drawn[0].apply(at)
    while len(drawn) < length:
        _forget_renames(at)
        at.held = frozenset(at.used())
        changes = _drawn(at, draw, draw.choice(_AT_ONCE))
        for change in changes:
            change.apply(at)
        drawn.append(_joined(changes))
    return drawn


def made(
    settings: StackSettings, changes: Sequence[Change], without: frozenset[int] = frozenset()
) -> Iterator[tuple[int, Change, StackSettings]]:
    """Gives number, change and settings of each change that can be made, but for those that are left out."""
    at = settings
    for number, change in enumerate(changes, start=1):
        then = at.copy()
        _forget_renames(then)
        with contextlib.suppress(MissingError):
            if number not in without:
                change.apply(then)
                at = then
                yield number, change, at


def _forget_renames(settings: StackSettings) -> None:
    """Takes out what counts for one update alone."""
    for one in (*settings.consumers, *settings.volumes):
        one.pop("renamedFrom", None)


def _drawn(settings: StackSettings, draw: Draw, number: int) -> list[Change]:
    """Changes for one update, each of another kind: each fits the settings with those before it."""
    at, changes, kinds = settings.copy(), list[Change](), dict(KINDS)
    while len(changes) < number:
        kind = draw.choices(list(kinds), list(kinds.values()))[0]
        del kinds[kind]
        if change := kind(at, draw):
            before = at.copy()
            change.apply(at)
            changes += [change] if at.config != before.config else []
    return changes


def _joined(changes: Sequence[Change]) -> Change:
    def apply(settings: StackSettings) -> None:
        for change in changes:
            change.apply(settings)

    return Change(" and ".join(change.text for change in changes), apply)


def _furnished(draw: Draw) -> Change:
    """Volumes and programs on them, of which some are left out."""
    names = draw.sample(("indexer", "keeper", "logs"), draw.choice((1, 2, 2, 3)))
    members, spare = draw.choice((2, 3)), draw.random() < 2 / 3
    count = draw.randint(1, members)
    growth = draw.choice(("xfs", "xfs", "ext4"))

    def apply(settings: StackSettings) -> None:
        zone = settings.zone
        if spare:
            settings.volumes.append(new_volume(SPARE, zone, "xfs"))
        for name in names:
            if name == "logs":
                settings.volumes.append(new_volume(SET, zone, "xfs") | {"count": members})
                settings.volumes[-1]["zones"] = [settings.volumes[-1].pop("zone")]
                settings.consumers.append(program(name, SET, count=count, per_alloc=True))
            else:
                settings.volumes.append(new_volume(f"{name}-data", zone, growth))
                settings.consumers.append(program(name, f"{name}-data"))

    instances = ["a spare volume"] * spare + [f"logs with {count} of {members}" if n == "logs" else n for n in names]
    return Change(f"add {', '.join(instances)}", apply)
