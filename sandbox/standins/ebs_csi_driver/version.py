"""What the driver says it is."""

from __future__ import annotations

import json
import os
import platform
from typing import Final

DRIVER_NAME: Final = "ebs.csi.aws.com"
VERSION_VARIABLE: Final = "NOMAD_STATEFUL_EBS_DRIVER_VERSION"
DRIVER_VERSION: Final = os.environ.get(VERSION_VARIABLE, "v1.48.0")
"""The upstream release whose calls to EC2 this driver makes."""


def since(major: int, minor: int) -> bool:
    """Whether the release is at least this one."""
    known = DRIVER_VERSION.removeprefix("v").split(".")
    return (int(known[0]), int(known[1])) >= (major, minor)


def version_json() -> str:
    """What `--version` prints: upstream's JSON keys, with Python where Go stands."""
    info = {
        "driverVersion": DRIVER_VERSION,
        "gitCommit": "",
        "buildDate": "",
        "pythonVersion": platform.python_version(),
        "platform": f"{platform.system().lower()}/{platform.machine()}",
    }
    return json.dumps(info, indent=2)
