"""The community's own CSI test suite against the whole driver: EC2's API, metadata, devices, mounts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sandbox import toolchain

from . import csi_sanity as sanity
from . import ebs_rig

pytestmark = pytest.mark.sandbox

LEFT_OUT = {"Pending": 1, "Skipped": 14}
"""What the driver does not promise, as upstream: volume lists, capacity, groups, clones, read-only attachments, and
to refuse by itself what is one volume too many for an instance, which is EC2's to do."""


@pytest.fixture(scope="module")
def csi_sanity() -> Path:
    """The suite's program, built once into the toolchain's cache."""
    return toolchain.ensure_csi_sanity()


@pytest.mark.parametrize("access_type", ["mount", "block"])
def test_csi_sanity_passes(csi_sanity: Path, access_type: str, tmp_path: Path) -> None:
    mutable = tmp_path / "mutable.yaml"
    mutable.write_text('iops: "4000"\n')
    suite = [
        str(csi_sanity),
        "--csi.endpoint={socket}",
        f"--csi.mountdir={tmp_path}/mnt",
        f"--csi.stagingdir={tmp_path}/staging",
        f"--csi.testvolumeaccesstype={access_type}",
        f"--csi.testvolumemutableparameters={mutable}",
        *sanity.options(tmp_path),
    ]
    rig = [*ebs_rig.NAMESPACES, sys.executable, ebs_rig.__file__, str(tmp_path), *suite]
    done = subprocess.run(rig, check=False, capture_output=True, text=True, timeout=300)
    tail = "\n".join(done.stdout.splitlines()[-60:]) + done.stderr[-4000:]
    assert done.returncode == 0, tail
    counts = sanity.read(f"ebs ({access_type})", done.stdout, tmp_path).counts
    assert counts["Failed"] == 0
    assert {name: counts[name] for name in LEFT_OUT} == LEFT_OUT, tail
    assert counts["Passed"] >= 77
