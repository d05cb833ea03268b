"""The file server as democratic-csi meets it: SSH spoken by a library, zfs, mounts as findmnt tells them, staging."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from sandbox.standins.nas import openssh
from tests.sandbox import storage_rig

pytestmark = pytest.mark.sandbox

Facts = dict[str, Any]


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Facts:
    """Everything that is asserted here, from one server."""
    openssh.ensure()
    folder = tmp_path_factory.mktemp("server")
    words = [*storage_rig.NAMESPACES, sys.executable, "-m", "tests.sandbox.file_server_facts", str(folder)]
    done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=180, cwd=storage_rig.PROJECT)
    assert done.returncode == 0, done.stdout + done.stderr
    found: Facts = json.loads((folder / "facts.json").read_text())
    return found


def test_the_server_answers_every_command_that_democratic_csi_sends(facts: Facts) -> None:
    said = facts["commands"]
    got = (
        "mountpoint\t/mnt/tank/csi/pvc-1\t-\t-",
        "refquota\t1048576\t-\tlocal",
        "compression\ton\t-\tdefault",
        "democratic-csi:csi_volume_name\tpvc-1\t-\tlocal",
    )
    assert said == [
        [0, "sh\n"],
        [0, "root\n"],
        [1, "cannot open 'tank/csi/pvc-1': dataset does not exist\n"],
        [0, ""],
        [0, ""],
        [0, "".join(f"tank/csi/pvc-1\t{line}\n" for line in got)],
        [0, ""],
        [0, ""],
        [0, ""],
        [0, ""],
        [0, 'tank/csi\t0\t-\ntank/csi/pvc-1\t1048576\t{"server":"nas"}\n'],
        said[11],
        [0, ""],
        [0, ""],
        [0, ""],
        [0, ""],
        [0, ""],
        [1, "cannot open 'tank/csi/copy': dataset does not exist\n"],
        [1, "touch: cannot touch '/etc/written-by-the-file-server': Read-only file system\n"],
    ]
    dataset, key, available, *_ = said[11][1].split("\t")
    assert (dataset, key, int(available) > 0) == ("tank/csi", "available", True)


def test_only_the_servers_key_logs_in(facts: Facts) -> None:
    assert facts["logins"] == {"another key": "refused", "a password": "refused", "another user": "refused"}


def test_a_share_is_mounted_as_nfs_would_be_shown(facts: Facts) -> None:
    mounts = facts["mounts"]
    assert (mounts["first"], mounts["read only"]) == ("", "")
    assert (mounts["found"]["source"], mounts["found"]["fstype"]) == ("nas:/mnt/tank/csi/pvc-1", "fuse.nfs")
    assert "busy or already mounted" in mounts["again"]
    assert mounts["seen"] == "shared"
    assert "Read-only file system" in mounts["write"]
    assert mounts["owner"] == 1234
    assert "access denied by server while mounting" in mounts["not exported"]
    assert mounts["left"] == {}
    assert "the file server nas does not run" in facts["without server"]


def test_staging_twice_mounts_once_and_unstaging_leaves_nothing(facts: Facts) -> None:
    assert (facts["stages"]["mounted"], facts["stages"]["staging folder"]) == (1, False)
    assert facts["stages"]["bind mount"] == "FAILED_PRECONDITION"


def test_staging_at_once_is_aborted_for_all_but_one(facts: Facts) -> None:
    aborted = 'ABORTED: operation locked due to in progress operation(s): ["volume_id_pvc-1"]'
    assert facts["stages"]["at once"] == [aborted, "staged"]


def test_a_controller_is_ready_once_it_can_log_in(facts: Facts) -> None:
    assert facts["probes"]["known key"] == "ready"
    assert facts["probes"]["another key"].startswith("INTERNAL: ssh root@127.0.0.1 port 22: Permission denied")
