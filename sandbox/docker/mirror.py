"""Where the packages of images come from: the mirror of Debian that apt has here, or the one that is named."""

from __future__ import annotations

import os
import subprocess
from typing import Final

from sandbox.docker.errors import DockerError

VARIABLE: Final = "NOMAD_STATEFUL_DEBIAN_MIRROR"
REMEDY: Final = f"Name a mirror of Debian that has it: {VARIABLE}=http://MIRROR/debian"
_SCHEMES: Final = ("http://", "https://", "file:")
_FORMAT: Final = "$(REPO_URI) $(ORIGIN)/$(LABEL)"


def debian(suite: str) -> str:
    """Returns the mirror's address.

    Raises:
        DockerError: none is named, and no source of apt is Debian's.
    """
    if named := os.environ.get(VARIABLE):
        return named.rstrip("/")
    asked = ["apt-get", "indextargets", "--format", _FORMAT, "Created-By: Packages"]
    told = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.splitlines()
    for line in told:
        address, _, publisher = line.partition(" ")
        # Debian's security archive has the same origin under another label, and no unstable suite.
        if publisher == "Debian/Debian" and address.startswith(_SCHEMES):
            return address.rstrip("/")
    raise DockerError(
        f"{VARIABLE} is '': images are made of Debian's suite {suite}, and apt here knows no source of Debian's. "
        f"{REMEDY}; on Debian itself `apt-get update` is enough."
    )
