"""The folder of official parts that tests run on, where OFFICIAL names one."""

import os
from pathlib import Path

from tools.toolchain.cache import cache_root

VARIABLE = "NOMAD_STATEFUL_OFFICIAL"
NOMAD = "pulumi-resource-nomad"
EBS = "aws-ebs-csi-driver"


def folder() -> Path | None:
    """Returns the folder, None where none is named; `make test OFFICIAL=DIR` sets the variable."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else None


def has(program: str) -> bool:
    """Returns whether the folder has an archive of the program; tests marked `official(program)` need it."""
    place = folder()
    return place is not None and any(place.glob(f"{program}-v*.tar.gz"))


def words() -> tuple[str, ...]:
    """Returns the arguments with which `python -m sandbox up` takes them."""
    found = folder()
    return ("--official", str(found)) if found else ()


def is_official(program: Path) -> bool:
    """Returns whether a plugin in place is the official one: a link to what was unpacked into the cache."""
    return program.is_symlink() and program.resolve().is_relative_to(cache_root() / "official")
