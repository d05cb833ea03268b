"""Faults of the API, switched on and off by a file: what AWS answers on a bad day, or that it does not answer."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args

from sandbox.machine.private_files import write_private
from sandbox.settings import SandboxError, SandboxSettings, usage

Kind = Literal["throttle", "error", "drop", "delay", "invisible", "modifying", "detach", "snapshot"]
KINDS: Final[tuple[str, ...]] = get_args(Kind)
VOLUME_KINDS: Final = frozenset({"invisible", "modifying", "detach", "snapshot"})
"""Kinds that change what EC2 does with volumes and snapshots, instead of how it answers."""


@dataclass(frozen=True)
class Fault:
    """One fault in force.

    throttle: refused as AWS throttles. error: a server's error. drop: the connection is closed without an answer, after
    `seconds`. delay: the answer comes after `seconds`. invisible: a new volume is not described for `seconds`.
    modifying: a changed volume is described as it was, and cannot be attached, for `seconds`. detach: a volume is
    `detaching` for `seconds`, or until it is forced. With 0 both last until the fault is switched off. snapshot: a new
    snapshot ends in `error`.
    """

    name: str
    kind: Kind
    action: str = "*"
    """Pattern of the API's actions, such as `Describe*`, and for S3 such as `PUT /BUCKET/*`; case counts."""
    probability: float = 1.0
    count: int = 0
    """How many calls it strikes; 0 is all of them."""
    seconds: float = 0.0
    after: bool = False
    """Whether the call takes effect before it fails."""
    serial: int = 0
    """When it was switched on: a fault that is switched on once more is another one, with a count of its own."""


def fault_file(settings: SandboxSettings) -> Path:
    """Where the faults in force are: a file that goes with the daemon."""
    return settings.home / "ec2" / "faults.json"


def read(path: Path) -> list[Fault]:
    """The faults in force."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    return [Fault(**item) for item in json.loads(text)]


def switch_on(settings: SandboxSettings, fault: Fault) -> None:
    """Puts a fault in force, in place of the one of the same name.

    Raises:
        SandboxError: it cannot be, with the reason.
    """
    path = fault_file(settings)
    if not path.parent.is_dir():
        raise SandboxError(f"the cloud is not running: `{usage.PROGRAM} up` starts it")
    if fault.kind not in KINDS:
        raise SandboxError(f"{fault.kind} is not a fault: use one of {', '.join(KINDS)}")
    if not 0 < fault.probability <= 1 or fault.count < 0 or fault.seconds < 0:
        raise SandboxError("a fault has a probability above 0 and up to 1, and a count and seconds of at least 0")
    others = [other for other in read(path) if other.name != fault.name]
    _write(path, [*others, replace(fault, serial=time.time_ns())])


def switch_off(settings: SandboxSettings, name: str = "") -> list[str]:
    """Takes the fault of that name, or all, out of force; the names of those that were."""
    path = fault_file(settings)
    faults = read(path)
    ended = [fault.name for fault in faults if name in {"", fault.name}]
    if ended:
        _write(path, [fault for fault in faults if fault.name not in ended])
    return ended


def _write(path: Path, faults: list[Fault]) -> None:
    write_private(path, json.dumps([asdict(fault) for fault in faults]))


class Faults:
    """The faults in force, as the daemon asks for them; and how often each has struck."""

    def __init__(self, path: Path, choose: random.Random | None = None) -> None:
        self._path = path
        self._choose = choose or random.Random()  # noqa: S311 - chance, not secrecy
        self._lock = threading.Lock()
        self._struck: Counter[Fault] = Counter()
        self._stamp: tuple[int, int] = (0, 0)
        self._faults: list[Fault] = []

    def strike(self, action: str) -> Fault | None:
        """The first fault that strikes a call of this action, counted."""
        with self._lock:
            for fault in self._in_force():
                if fault.kind not in VOLUME_KINDS and fnmatchcase(action, fault.action) and self._hits(fault):
                    return fault
        return None

    def strike_volume(self, kind: Kind) -> Fault | None:
        """The fault of a volume's kind that strikes now, counted."""
        with self._lock:
            return next((fault for fault in self._in_force() if fault.kind == kind and self._hits(fault)), None)

    def holds(self, fault: Fault) -> bool:
        """Whether a fault is still in force."""
        with self._lock:
            return fault in self._in_force()

    def _hits(self, fault: Fault) -> bool:
        if fault.count and self._struck[fault] >= fault.count:
            return False
        if self._choose.random() >= fault.probability:
            return False
        self._struck[fault] += 1
        return True

    def _in_force(self) -> list[Fault]:
        try:
            found = self._path.stat()
            stamp = (found.st_mtime_ns, found.st_ino)
        except FileNotFoundError:
            stamp = (0, 0)
        if stamp != self._stamp:
            self._faults, self._stamp = read(self._path), stamp
            self._struck = Counter({fault: hits for fault, hits in self._struck.items() if fault in self._faults})
        return self._faults


def from_arguments(arguments: Mapping[str, Any]) -> Fault:
    """A fault from the options of the command line."""
    return Fault(
        name=arguments["name"] or arguments["kind"],
        kind=cast("Kind", arguments["kind"]),
        action=arguments["action"],
        probability=arguments["probability"],
        count=arguments["count"],
        seconds=arguments["seconds"],
        after=arguments["after"],
    )
