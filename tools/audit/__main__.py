"""`python -m tools.audit`: complaints on standard error and 1, or one line of what was checked and what was not.

With AUDIT=require in the environment, as CI has it, what could not be looked up is a complaint too.
"""

import hashlib
import json
import os
import sys
import time
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from tools.audit import images, licences, packages, vulnerabilities

TOP = Path(__file__).parents[2]
LOCK = TOP / "requirements.lock"
PYTHON = (LOCK, TOP / "tools/wheel-requirements.txt", TOP / "tools/uv-requirements.txt")
NPM = (TOP / "tests/iam/package-lock.json", TOP / "examples/package-typescript/package-lock.json")
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nomad-stateful" / "audit"
MUST_ASK = "require"
"""Value of AUDIT with which an audit that could not ask fails."""
FRESH_S = 24 * 3600
"""How long an answer of a service counts: new vulnerabilities become known while a lock stays the same."""


def local() -> list[str]:
    """Complaints about what can be seen without asking anybody. Go and uv refuse what has no hash by themselves."""
    known = licences.python() | {
        name: str(entry.get("license", "")) for lock in NPM for name, entry in packages.npm(lock).items()
    }
    return [
        *packages.differences(LOCK),
        *(complaint for lock in NPM for complaint in packages.without_hash(lock)),
        *images.listed(images.defaults())[1],
        *licences.unlisted(known),
    ]


def asked() -> dict[str, Any]:
    """What services say: known vulnerabilities, other complaints, and what could not be looked up."""
    looks = {"Python": partial(vulnerabilities.python, PYTHON)}
    looks |= {str(lock.relative_to(TOP)): partial(vulnerabilities.npm, lock) for lock in NPM}
    known, missing = [], []
    for name, look_up in looks.items():
        try:
            known += [[str(found), list(found.names)] for found in look_up()]
        except vulnerabilities.NotLookedUp as error:
            missing.append(f"vulnerabilities of {name}: not looked up: {error}")
    withdrawn, reason = packages.yanked(LOCK)
    moved, reasons = images.moved(images.listed(images.defaults())[0])
    return {
        "known": known,
        "complaints": [*withdrawn, *moved],
        "missing": [*missing, *([reason] if reason else []), *reasons],
    }


def remembered(*, must_ask: bool) -> dict[str, Any]:
    """The services' answers about the same pins, where fresh and, if it must ask, whole; asked for otherwise."""
    key = hashlib.sha256(b"".join(path.read_bytes() for path in (*PYTHON, *NPM, images.LIST))).hexdigest()[:32]
    path = CACHE / f"{key}.json"
    if path.is_file() and time.time() - path.stat().st_mtime < FRESH_S:
        found = dict(json.loads(path.read_text(encoding="utf-8")))
        if not (must_ask and found["missing"]):
            return found
    answer = asked()
    CACHE.mkdir(parents=True, exist_ok=True)
    for old in CACHE.glob("*.json"):
        old.unlink(missing_ok=True)
    fresh = path.with_suffix(f".{os.getpid()}")
    fresh.write_text(json.dumps(answer), encoding="utf-8")
    fresh.replace(path)
    return answer


def main() -> int:
    """Checks everything."""
    must_ask = os.environ.get("AUDIT") == MUST_ASK
    complaints, answer = local(), remembered(must_ask=must_ask)
    reasons, disorder = vulnerabilities.accepted(datetime.now(UTC).date())
    known = [text for text, names in answer["known"] if reasons.keys().isdisjoint(names)]
    complaints += disorder + known + answer["complaints"] + (answer["missing"] if must_ask else [])
    for line in complaints:
        print(f"error: {line}", file=sys.stderr)
    if not must_ask:
        for line in answer["missing"]:
            print(f"audit: {line}", file=sys.stderr)
    if complaints:
        return 1
    print("audit: hashes and licences are in order; .venv holds what the lock says")
    return 0


if __name__ == "__main__":
    sys.exit(main())
