"""What the driver says it is."""

from __future__ import annotations

import os
from typing import Final

DRIVER_NAME: Final = "ebs.csi.aws.com"
VERSION_VARIABLE: Final = "NOMAD_STATEFUL_EBS_DRIVER_VERSION"
DRIVER_VERSION: Final = os.environ.get(VERSION_VARIABLE, "v1.48.0")
"""The upstream release whose calls to EC2 this driver makes."""


def since(major: int, minor: int) -> bool:
    """Whether the release is at least this one."""
    known = DRIVER_VERSION.removeprefix("v").split(".")
    return (int(known[0]), int(known[1])) >= (major, minor)
