"""What each driver takes on its command line, and in its configuration file."""

import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.standins.csi.flags import FlagError
from sandbox.standins.democratic_csi import config as democratic_config
from sandbox.standins.democratic_csi import options as democratic
from sandbox.standins.democratic_csi.config import ConfigError
from sandbox.standins.efs_csi_driver import options as efs
from sandbox.standins.hostpath import options as hostpath

KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\n    c2VjcmV0\n    -----END OPENSSH PRIVATE KEY-----"
CONFIG = f"""
driver: zfs-generic-nfs
sshConnection:
  host: kowlan.jellybean.sihnon.net
  username: root
  privateKey: |
    {KEY}
zfs:
  datasetParentName: pool2/democratic/root
  detachedSnapshotsDatasetParentName: pool2/democratic/snapshots
  datasetProperties:
    "com.sun:auto-snapshot": true
nfs:
  shareHost: kowlan.jellybean.sihnon.net
"""


def read(folder: Path, text: str) -> democratic_config.Config:
    file = folder / "driver.yaml"
    file.write_text(text)
    return democratic_config.load(str(file))


def test_efs_takes_the_command_lines_of_old_and_new_releases() -> None:
    old = efs.parse(["--endpoint=unix://csi/csi.sock", "--logtostderr", "--v=5"])
    assert (old.endpoint, old.verbosity, old.vol_metrics) == ("unix://csi/csi.sock", 5, False)
    new = efs.parse(
        [
            "--vol-metrics-opt-in=true",
            "--vol-metrics-refresh-period=240",
            "--vol-metrics-fs-rate-limit=5",
            "--delete-access-point-root-dir=false",
            "--tags=team:data env:prod",
            "--volume-attach-limit=20",
        ]
    )
    assert (new.vol_metrics, new.volume_attach_limit) == (True, 20)


@pytest.mark.parametrize("flag", ["--volume-attach-limit=-2", "--tags=nothing", "node-only=x --nope"])
def test_efs_refuses_what_means_nothing(flag: str) -> None:
    with pytest.raises(FlagError):
        efs.parse(flag.split(" "))


def test_hostpath_needs_to_know_its_node_and_reads_a_capacity() -> None:
    with pytest.raises(FlagError, match="--nodeid"):
        hostpath.parse(["--drivername=csi-hostpath"])
    options = hostpath.parse(["--nodeid=n", "--capacity=fast=1Gi", "--maxvolumespernode=3", "--enable-attach"])
    assert (options.capacity_bytes, options.max_volumes_per_node, options.enable_attach) == (1024**3, 3, True)
    assert options.state_dir == "/csi-data-dir"


def test_democratic_csi_takes_one_mode_or_both_and_a_socket_in_either_form() -> None:
    common = ["--driver-config-file=/f", "--csi-name=nas", "--csi-version=1.5.0"]
    one = democratic.parse([*common, "--csi-mode=node", "--server-socket=/csi/csi.sock"])
    assert (one.modes, one.endpoints) == (("node",), ("unix:///csi/csi.sock",))
    both = democratic.parse(
        [*common, "--csi-mode=controller", "--csi-mode=node", "--server-address=127.0.0.1", "--server-port=9000"]
    )
    assert (both.modes, both.endpoints) == (("controller", "node"), ("tcp://127.0.0.1:9000",))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--csi-name=n", "--server-socket=/s"], "driver-config-file"),
        (["--driver-config-file=/f", "--csi-name=n", "--server-socket=/s", "--csi-mode=monolith"], "csi-mode"),
        (["--driver-config-file=/f", "--csi-name=n", "--server-socket=/s", "--csi-version=2.0.0"], "csi-version"),
        (["--driver-config-file=/f", "--csi-name=n"], "must listen"),
    ],
)
def test_democratic_csi_says_what_is_wrong_with_its_command_line(words: list[str], said: str) -> None:
    with pytest.raises(FlagError, match=said):
        democratic.parse(words)


def test_the_configuration_of_the_document_is_understood(tmp_path: Path) -> None:
    config = read(tmp_path, CONFIG)
    assert config.zfs is not None
    assert config.ssh is not None
    assert (config.driver, config.share_host) == ("zfs-generic-nfs", "kowlan.jellybean.sihnon.net")
    assert (config.zfs.parent, dict(config.zfs.properties)) == (
        "pool2/democratic/root",
        {"com.sun:auto-snapshot": "true"},
    )
    assert (config.ssh.port, config.ssh.private_key.count("\n")) == (22, 3)
    assert "c2VjcmV0" not in repr(config)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("driver: zfs-generic-nfs", "driver: zfs", "driver is 'zfs'"),
        ("  shareHost: kowlan.jellybean.sihnon.net", "  other: x", "nfs.shareHost is missing"),
        ("  datasetParentName: pool2/democratic/root", "", "zfs.datasetParentName is missing"),
        ("  detachedSnapshotsDatasetParentName: pool2/democratic/snapshots", "", "ParentName is missing"),
        ("democratic/snapshots", "democratic/root/snapshots", "must not overlap"),
        ("  username: root", "  port: many", "sshConnection.port is 'many'"),
        ("BEGIN OPENSSH PRIVATE", "BEGIN OPENSSH PUBLIC", "sshConnection.privateKey is no private key"),
        ("    c2VjcmV0", "c2VjcmV0: [", "this is not YAML"),
    ],
)
def test_a_bad_configuration_is_named_by_its_key_and_never_shows_the_ssh_key(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    assert old in CONFIG
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, CONFIG.replace(old, new))
    assert said in str(caught.value)
    assert "c2VjcmV0" not in str(caught.value)


@pytest.mark.parametrize("module", ["efs_csi_driver", "democratic_csi", "hostpath"])
def test_each_program_tells_its_version(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", f"sandbox.standins.{module}", "--version"], capture_output=True, text=True, check=True
    )
    assert any(version in done.stdout for version in ("v3.5.0", "1.9.5", "v1.9.0"))
