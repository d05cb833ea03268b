"""Where the official parts are that tests run on: the folder that OFFICIAL names, else the one beside the clone."""

import os
from pathlib import Path

from tools.toolchain.cache import cache_root

VARIABLE = "NOMAD_STATEFUL_OFFICIAL"
BESIDE = Path(__file__).resolve().parents[2] / "shared" / "official"


NONE = "none"


def folder() -> Path | None:
    """Returns the folder, None where there is none or none is wanted; `make test OFFICIAL=DIR` sets the variable."""
    named = os.environ.get(VARIABLE)
    if named:
        return None if named == NONE else Path(named)
    return BESIDE if BESIDE.is_dir() else None


def words() -> tuple[str, ...]:
    """Returns the arguments with which `python -m sandbox up` takes them."""
    found = folder()
    return ("--official", str(found)) if found else ()


def missing() -> str:
    """Returns why a test on the official parts cannot run; empty when it can."""
    return "" if folder() else f"no folder of official parts: make test OFFICIAL=DIR, or put one at {BESIDE}"


def is_official(program: Path) -> bool:
    """Returns whether a plugin in place is the official one: a link to what was unpacked into the cache."""
    return program.is_symlink() and program.resolve().is_relative_to(cache_root() / "official")
