"""`python -m tools.audit`: complaints on standard error and 1, or one line of what was checked and what was not.

With AUDIT=require in the environment, as CI has it, what could not be looked up is a complaint too.
"""

import hashlib
import json
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tools.audit import images, indexes, installed, pins, vulnerabilities

TOP = Path(__file__).parents[2]
PYTHON = ("requirements.lock", "tools/wheel-requirements.txt", "tools/uv-requirements.txt")
NPM = ("tests/iam/package-lock.json", "examples/package-typescript/package-lock.json")
GO = "tools/toolchain/*/go.mod"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nomad-stateful" / "audit"
MUST_ASK = "require"
"""Value of AUDIT with which an audit that could not ask fails."""
FRESH_S = 24 * 3600
"""How long an answer of a service counts: new vulnerabilities become known while a lock stays the same."""


def local() -> tuple[list[pins.Pin], list[str]]:
    """All pins, and complaints about what can be seen without asking anybody."""
    found: list[pins.Pin] = []
    complaints: list[str] = []
    for name in PYTHON:
        listed, wrong = pins.python(TOP / name)
        found += listed
        complaints += wrong
        if name == PYTHON[0]:
            complaints += installed.differences(listed)
    packages = [pin for name in NPM for pin in pins.npm(TOP / name)]
    modules = [pin for path in sorted(TOP.glob(GO)) for pin in pins.go(path)]
    complaints += pins.complaints([*found, *packages, *modules])
    complaints += images.listed(images.defaults())[1]
    complaints += installed.unlisted(installed.python_licences() | {pin.name: pin.licence for pin in packages})
    return [*found, *packages, *modules], complaints


def asked(listed: list[pins.Pin]) -> dict[str, list[str]]:
    """What services say: complaints, notes that fail nothing, and what could not be looked up."""
    complaints: list[str] = []
    missing: list[str] = []
    notes: list[str] = []
    uv = next(iter(sorted(CACHE.parent.glob("uv-*/bin/uv"))), None)
    wrong, reason = indexes.yanked(TOP / PYTHON[0], uv)
    complaints += wrong
    missing += [reason] if reason else []
    try:
        known = [[one.identity, one.pin.ecosystem, str(one)] for one in vulnerabilities.look_up(listed)]
    except vulnerabilities.NotLookedUp as error:
        known, missing = [], [*missing, f"vulnerabilities: not looked up: {error}"]
    for identity, ecosystem, text in known:
        # Go builds the sandbox's own tools alone, and which of their code runs only govulncheck could tell.
        (notes if ecosystem == "Go" else complaints).append(f"{text} [{identity}]")
    wrong, reasons = images.moved(images.listed(images.defaults())[0])
    complaints += wrong
    missing += reasons
    return {"complaints": complaints, "notes": notes, "missing": missing}


def remembered(listed: list[pins.Pin], *, must_ask: bool) -> dict[str, Any]:
    """The services' answers about the same pins, where fresh and, if it must ask, whole; asked for otherwise."""
    known = [*sorted(map(str, listed)), images.LIST.read_text(encoding="utf-8")]
    key = hashlib.sha256(repr(known).encode()).hexdigest()[:32]
    path = CACHE / f"{key}.json"
    if path.is_file() and time.time() - path.stat().st_mtime < FRESH_S:
        found = dict(json.loads(path.read_text(encoding="utf-8")))
        if not (must_ask and found["missing"]):
            return found
    answer = asked(listed)
    CACHE.mkdir(parents=True, exist_ok=True)
    for old in CACHE.glob("*.json"):
        old.unlink(missing_ok=True)
    fresh = path.with_suffix(f".{os.getpid()}")
    fresh.write_text(json.dumps(answer), encoding="utf-8")
    fresh.replace(path)
    return answer


def main(arguments: list[str]) -> int:
    """Checks everything; with --modules also every file of Go's cache against go.sum, which takes its time."""
    listed, complaints = local()
    if "--modules" in arguments:
        for wrong, reason in map(indexes.tampered, sorted(path.parent for path in TOP.glob(GO))):
            complaints += [*wrong, *([reason] if reason else [])]
    must_ask = os.environ.get("AUDIT") == MUST_ASK
    answer = remembered(listed, must_ask=must_ask)
    reasons, disorder = vulnerabilities.accepted(datetime.now(UTC).date())
    known = [text for text in answer["complaints"] if not any(f"[{identity}]" in text for identity in reasons)]
    complaints += disorder + known + (answer["missing"] if must_ask else [])
    for line in complaints:
        print(f"error: {line}", file=sys.stderr)
    for line in [*answer["notes"], *([] if must_ask else answer["missing"])]:
        print(f"audit: {line}", file=sys.stderr)
    if complaints:
        return 1
    count = len({(pin.ecosystem, pin.name, pin.version) for pin in listed})
    print(f"audit: {count} pinned packages have hashes and licences in order; .venv holds what the lock says")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
