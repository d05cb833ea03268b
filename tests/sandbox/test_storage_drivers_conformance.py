"""The community's own CSI test suite against the drivers of shares and folders."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.standins.nas import openssh
from tests.sandbox import csi_sanity as sanity
from tests.sandbox import storage_rig
from tools import toolchain

pytestmark = [pytest.mark.sandbox, pytest.mark.nightly]

NO_CONTROLLER = (
    "DeleteSnapshot|ExpandVolume|ModifyVolume|Controller Service|CreateSnapshot|ListSnapshots|GroupController"
)
NEEDS_A_VOLUME = (
    "should work|should be idempotent|remove target path|not exist on the specified path|volume is not found"
)
UNASKED = "left out, as there is no controller that could make the suite a volume"
WITHOUT_SIZES = "with already existing name and different capacity"
"""What upstream's nfs-client does not refuse: it makes folders, keeps no sizes and tells none."""


@pytest.fixture(scope="module")
def csi_sanity() -> Path:
    """The suite's program, built once into the toolchain's cache; and what the file server needs."""
    openssh.ensure()
    return toolchain.ensure_built(toolchain.CSI_SANITY)


@pytest.mark.parametrize(
    ("driver", "passed", "left_out"),
    [
        # Left out, as upstream: groups, attaching, modifying, and expanding on the node where it has no part in it.
        pytest.param("hostpath", 67, {"Pending": 1, "Skipped": 24}, id="hostpath"),
        pytest.param("zfs", 63, {"Pending": 1, "Skipped": 28}, id="democratic-csi zfs-generic-nfs"),
        pytest.param("client", 48, {"Pending": 1, "Skipped": 43}, id="democratic-csi nfs-client"),
        # Without provisioning EFS has no controller.
        pytest.param("efs", 12, {"Pending": 1}, id="efs"),
    ],
)
def test_csi_sanity_passes(
    csi_sanity: Path, driver: str, passed: int, left_out: dict[str, int], tmp_path: Path
) -> None:
    suite = [
        str(csi_sanity),
        "--csi.endpoint={socket}",
        f"--csi.mountdir={tmp_path}/mnt",
        f"--csi.stagingdir={tmp_path}/staging",
        *sanity.options(tmp_path),
    ]
    if driver == "efs":
        # Before each test of the node the suite wants capabilities of a controller: any will do.
        suite += ["--csi.controllerendpoint={other}", f"--ginkgo.skip={NO_CONTROLLER}|{NEEDS_A_VOLUME}"]
    if driver == "client":
        suite.append(f"--ginkgo.skip={WITHOUT_SIZES}")
    rig = [*storage_rig.NAMESPACES, sys.executable, "-m", "tests.sandbox.storage_rig", str(tmp_path), driver, *suite]
    done = subprocess.run(rig, check=False, capture_output=True, text=True, timeout=300, cwd=storage_rig.PROJECT)
    tail = "\n".join(done.stdout.splitlines()[-60:]) + done.stderr[-4000:]
    assert done.returncode == 0, tail
    unasked = "left out, as the driver keeps no sizes" if driver == "client" else UNASKED
    counts = sanity.read(driver, done.stdout, tmp_path, unasked).counts
    assert (counts["Passed"], counts["Failed"]) == (passed, 0), tail
    assert {name: counts[name] for name in left_out} == left_out, tail
