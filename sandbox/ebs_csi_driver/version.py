"""What the driver says it is."""

from __future__ import annotations

import json
import platform
from typing import Final

DRIVER_NAME: Final = "ebs.csi.aws.com"
DRIVER_VERSION: Final = "v1.48.0"
"""The upstream release whose behaviour this driver follows."""


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
