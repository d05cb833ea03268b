"""A node for the drivers of shares and folders: network storage that is folders, and the programs that mount it.

Run as a program it does a command beside a driver: `storage_rig.py FOLDER DRIVER COMMAND…`, where `{socket}` in the
command is the driver's address, and `{other}` that of a hostpath driver. It wants namespaces of its own (mount,
network, process), so that it leaves nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc

from sandbox.cloud import efs
from sandbox.machine import ami
from sandbox.standins.nas.file_server import FileServer
from sandbox.standins.nas.layout import Nas
from tests.sandbox.ebs_rig import IMDS_PORT, NAMESPACES, PROJECT, ZONE, documents, serve_imds

INSTANCE = "i-0123456789abcdef0"
FILE_SYSTEM = "fs-0123456789abcdef0"
HOST = "127.0.0.1"
"""Where the file server is, for SSH."""

__all__ = ["FILE_SYSTEM", "INSTANCE", "NAMESPACES", "PROJECT"]

ZFS_CONFIG = """\
driver: zfs-generic-nfs
sshConnection:
  host: {host}
  port: 22
  username: root
  privateKey: |
{key}
zfs:
  datasetParentName: tank/csi
  detachedSnapshotsDatasetParentName: tank/snapshots
  datasetEnableQuotas: true
  datasetPermissionsMode: "0777"
  datasetProperties:
    "com.sun:auto-snapshot": "true"
nfs:
  shareHost: nas
  shareStrategy: setDatasetProperties
  shareStrategySetDatasetProperties:
    properties:
      sharenfs: "on"
"""
CLIENT_CONFIG = """\
driver: nfs-client
nfs:
  shareHost: nas
  shareBasePath: /mnt/tank/shares
  controllerBasePath: {base}
  dirPermissionsMode: "0777"
"""


def prepare(folder: Path) -> dict[str, list[str]]:
    """Makes storage and programs visible in this mount namespace; gives each driver's command line without endpoint."""
    nas = Nas(folder / "nas")
    for part in (efs.root, efs.zones, efs.access_points):
        part(folder / "efs", FILE_SYSTEM).mkdir(parents=True, exist_ok=True)
    (efs.zones(folder / "efs", FILE_SYSTEM) / ZONE).touch()
    programs = folder / "sbin"
    programs.mkdir()
    for name, text in ami.programs(ZONE, folder / "efs", folder / "nas").items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    sbin = os.path.realpath("/sbin")
    layers = f"lowerdir={programs}:{sbin}"
    subprocess.run(["mount", "-t", "overlay", "rig-sbin", "-o", layers, sbin], check=True)
    _cover_folders(folder / "layers")
    key = "".join(f"    {line}\n" for line in nas.key_file.read_text().splitlines())
    for name, text in (
        ("zfs", ZFS_CONFIG.format(host=HOST, key=key.rstrip("\n"))),
        ("client", CLIENT_CONFIG.format(base=folder / "share")),
    ):
        (folder / f"{name}.yaml").write_text(text)
    shares = ["sandbox.standins.democratic_csi", "--csi-version=1.5.0", "--csi-name=nas", "--log-level=debug"]
    return {
        "efs": ["sandbox.standins.efs_csi_driver", "--logtostderr", "--v=5", "--vol-metrics-opt-in"],
        "zfs": [*shares, f"--driver-config-file={folder}/zfs.yaml"],
        "client": [*shares, f"--driver-config-file={folder}/client.yaml"],
        "hostpath": [
            "sandbox.standins.hostpath",
            "--drivername=csi-hostpath",
            "--nodeid=n1",
            "--v=5",
            f"--statedir={folder}/data",
        ],
    }


def _cover_folders(layers: Path) -> None:
    """Keeps in this mount namespace what a driver writes to its client."""
    layers.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "rig-layers", str(layers)], check=True)
    for name in ("etc", "run", "var"):
        upper, work = layers / name, layers / f"{name}.work"
        upper.mkdir()
        work.mkdir()
        options = f"lowerdir=/{name},upperdir={upper},workdir={work}"
        subprocess.run(["mount", "-t", "overlay", f"rig-{name}", "-o", options, f"/{name}"], check=True)


def environment() -> dict[str, str]:
    """What a driver sees: the rig's metadata service."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("AWS_")}
    return env | {
        "PYTHONPATH": str(PROJECT),
        "PATH": f"{os.path.realpath('/sbin')}:{env['PATH']}",
        "AWS_EC2_METADATA_SERVICE_ENDPOINT": f"http://127.0.0.1:{IMDS_PORT}",
    }


@contextmanager
def driver(folder: Path, words: list[str], name: str = "csi") -> Iterator[str]:
    """A running driver; its endpoint."""
    socket = folder / f"{name}.sock"
    flag = "--server-socket" if "democratic" in words[0] else "--endpoint"
    argv = [sys.executable, "-m", *words, f"{flag}=unix://{socket}"]
    with (folder / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(argv, env=environment(), stderr=log, cwd="/")
    try:
        deadline = time.monotonic() + 120
        while not socket.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError((folder / f"{name}.log").read_text())
            time.sleep(0.01)
        # A socket that is bound and not listened on yet refuses.
        with grpc.insecure_channel(f"unix://{socket}") as channel:
            grpc.channel_ready_future(channel).result(timeout=20)
        yield f"unix://{socket}"
    finally:
        process.terminate()
        process.wait(timeout=120)  # a machine that writes much else ends it late


def main(folder: Path, name: str, command: list[str]) -> int:
    """Run the command beside a driver; its exit status."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    server = FileServer(folder / "nas", folder / "nas.log", HOST, None)
    try:
        known = prepare(folder)
        serve_imds(documents(INSTANCE), IMDS_PORT)
        if name == "client":
            mount_share(folder)
        with driver(folder, known[name]) as socket, driver(folder, known["hostpath"], "other") as other:
            argv = [part.replace("{socket}", socket).replace("{other}", other) for part in command]
            return subprocess.run(argv, check=False, env=environment()).returncode
    finally:
        server.stop()


def mount_share(folder: Path) -> None:
    """Gives the controller of nfs-client its share, which it does not mount by itself."""
    base = folder / "share"
    base.mkdir()
    subprocess.run(["mount", "-t", "nfs", "-o", "nolock", "nas:/mnt/tank/shares", str(base)], check=True)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))
