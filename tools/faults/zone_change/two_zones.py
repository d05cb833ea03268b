"""A sandbox with two clients in each of two zones, and attempts on its stack, one after the other."""

from __future__ import annotations

import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tools.faults.lane import Lane, open_lane
from tools.faults.runner import bring, keep_logs
from tools.faults.zone_change.run import CLIENTS
from tools.trial.ground import Ground, claim

T = TypeVar("T")
_CLIENT = '[[instances]]\nname = "{name}"\nzone = "{zone}"\n'


@dataclass(frozen=True)
class TwoZones(Ground):
    """With two clients in each zone, so that either can be lost."""

    @property
    def config(self) -> str:
        """What sandbox.toml says of it."""
        places = [(name, zone) for zone, names in CLIENTS.items() for name in names]
        return super().config + "".join(_CLIENT.format(name=name, zone=zone) for name, zone in places)


def outcomes(attempts: Iterable[tuple[str, Callable[[Lane], T]]], table: Callable[[list[T]], str]) -> list[T]:
    """Makes each attempt, says which one it is and all that came of them so far, and returns that."""
    # So that an end by a signal takes the sandbox down too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    found: list[T] = []
    ground = claim()
    with (
        tempfile.TemporaryDirectory(prefix="nomad-stateful-zones-") as home,
        open_lane(0, TwoZones(ground.name, ground.subnet), Path(home)) as lane,
    ):
        bring(lane, "deployed")
        for name, attempt in attempts:
            print(f"==> {name}", file=sys.stderr, flush=True)
            with _kept_where_it_fails(lane):
                found.append(attempt(lane))
            print(found[-1], file=sys.stderr, flush=True)
            print(f"\n{table(found)}\n", flush=True)
    return found


@contextmanager
def _kept_where_it_fails(lane: Lane) -> Iterator[None]:
    """Keeps what tells about a change that raises: its logs go with the sandbox."""
    try:
        yield
    except BaseException:
        folder = keep_logs(lane, Path(tempfile.mkdtemp(prefix="nomad-stateful-zones-failed-")))
        print(f"its logs: {folder}", file=sys.stderr, flush=True)
        raise
