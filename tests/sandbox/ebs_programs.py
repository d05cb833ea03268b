"""The EBS drivers that one set of tests is run on: the stand-in, and the official one where OFFICIAL has it."""

import sys
from typing import Any

import pytest

from tests import official_parts
from tools.toolchain import official

VERSION = "1.48.0"
STAND_IN = (sys.executable, "-m", "sandbox.standins.ebs_csi_driver")

BOTH: list[Any] = ["stand-in", pytest.param("official", marks=pytest.mark.official(official_parts.EBS))]


def words(driver: str) -> tuple[str, ...]:
    """Returns the command that runs the driver, without its mode and flags."""
    if driver == "stand-in":
        return STAND_IN
    folder = official_parts.folder()
    assert folder is not None
    program = official.take(folder, "aws-ebs-csi-driver", VERSION)
    assert program is not None, f"{folder} has no archive of aws-ebs-csi-driver {VERSION}"
    return (str(program),)
