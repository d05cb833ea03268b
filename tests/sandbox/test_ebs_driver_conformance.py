"""The community's own CSI test suite against each EBS driver on an instance: EC2's API, metadata, devices, mounts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.cloud import enter
from tests.sandbox import csi_sanity as sanity
from tests.sandbox.ebs_programs import BOTH, words
from tests.sandbox.local_cloud import Cloud, place, running_cloud
from tests.sandbox.test_ebs_driver_instances import Driver, csi
from tools import toolchain

__all__ = ["csi"]

pytestmark = [pytest.mark.sandbox, pytest.mark.nightly, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]

LEFT_OUT = {"Pending": 1, "Skipped": 14}
"""What the driver does not promise: volume lists, capacity, groups, clones, read-only attachments, and to refuse by
itself what is one volume too many for an instance, which is EC2's to do."""

REFUSES_OTHERWISE = {
    # INTERNAL, where the suite wants NOT_FOUND.
    "should fail if volume does not exist",
    "should fail when volume is not found",
    "should fail when the requested volume does not exist",
    # INTERNAL, where the suite wants an empty list.
    "should return empty when the specified snapshot id does not exist",
    # EC2 gives no page below 5.
    "should return next token when a limited number of entries are requested",
    # The suite makes two volumes of one name, one after the other; EC2 remembers the first one's token.
    "should fail when the volume source snapshot is not found",
    "should modify a volume created with a volume attribute class",
}
"""The tests that the official driver fails; the stand-in fails the same."""


@pytest.fixture(scope="module")
def csi_sanity() -> Path:
    """The suite's program, built once into the toolchain's cache."""
    return toolchain.ensure_built(toolchain.CSI_SANITY)


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    with running_cloud(*place(tmp_path_factory.mktemp("sanity"))) as running:
        yield running


@pytest.fixture
def folder() -> Iterator[Path]:
    """Instances have a /tmp of their own, and a socket's path has to be short."""
    made = Path(tempfile.mkdtemp(prefix="nstsan-", dir="/var/tmp"))
    yield made
    shutil.rmtree(made)


def failed(report: Path) -> set[str]:
    """The names of the tests that failed."""
    suites = json.loads(report.read_text(encoding="utf-8"))
    specs = [spec for suite in suites for spec in suite["SpecReports"]]
    return {spec["LeafNodeText"] for spec in specs if spec["State"] not in {"passed", "skipped", "pending"}}


@pytest.mark.parametrize("driver", BOTH)
@pytest.mark.parametrize("access_type", ["mount", "block"])
def test_the_drivers_fail_the_same_tests_of_the_suite(
    csi_sanity: Path, access_type: str, driver: str, cloud: Cloud, csi: Any, folder: Path
) -> None:
    mutable = folder / "mutable.yaml"
    mutable.write_text('iops: "4000"\n')
    running = Driver(cloud, "client-1", "all", folder, csi, words(driver))
    suite = [
        *enter("client-1", cloud.settings),
        str(csi_sanity),
        f"--csi.endpoint=unix://{folder}/client-1-all.sock",
        "--csi.mountdir=/mnt/sanity",
        "--csi.stagingdir=/mnt/sanity-staging",
        f"--csi.testvolumeaccesstype={access_type}",
        f"--csi.testvolumemutableparameters={mutable}",
        *sanity.options(folder),
    ]
    try:
        done = subprocess.run(suite, check=False, capture_output=True, text=True, timeout=300)
    finally:
        running.close()
    counts = sanity.read(f"ebs, {driver} ({access_type})", done.stdout, folder).counts
    tail = "\n".join(done.stdout.splitlines()[-60:]) + done.stderr[-4000:]
    assert failed(folder / sanity.REPORT) == REFUSES_OTHERWISE, tail
    assert {name: counts[name] for name in LEFT_OUT} == LEFT_OUT, tail
    assert counts["Passed"] >= 70
