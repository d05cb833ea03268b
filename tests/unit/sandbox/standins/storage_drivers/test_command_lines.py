"""What each driver takes on its command line, and in its configuration file."""

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


def test_efs_takes_the_stacks_command_line() -> None:
    old = efs.parse(["--endpoint=unix://csi/csi.sock", "--logtostderr", "--v=5"])
    assert (old.endpoint, old.verbosity, old.vol_metrics) == ("unix://csi/csi.sock", 5, False)
    assert efs.parse(["--vol-metrics-opt-in=true"]).vol_metrics is True


@pytest.mark.parametrize("flag", ["--tags=team:data", "--volume-attach-limit=20", "node-only=x --nope"])
def test_efs_refuses_flags_that_nothing_here_passes(flag: str) -> None:
    with pytest.raises(FlagError, match="unknown flag"):
        efs.parse(flag.split(" "))


def test_hostpath_needs_to_know_its_node() -> None:
    with pytest.raises(FlagError, match="--nodeid"):
        hostpath.parse(["--drivername=csi-hostpath"])
    assert hostpath.parse(["--nodeid=n"]).state_dir == "/csi-data-dir"


def test_democratic_csi_takes_one_mode_or_both_and_a_socket_in_either_form() -> None:
    common = ["--driver-config-file=/f", "--csi-name=nas", "--csi-version=1.5.0"]
    one = democratic.parse([*common, "--csi-mode=node", "--server-socket=/csi/csi.sock"])
    assert (one.modes, one.endpoint) == (("node",), "unix:///csi/csi.sock")
    both = democratic.parse([*common, "--csi-mode=controller", "--csi-mode=node", "--server-socket=unix:///csi.sock"])
    assert (both.modes, both.endpoint) == (("controller", "node"), "unix:///csi.sock")


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
