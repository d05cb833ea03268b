"""A node for the EBS CSI driver alone: EC2's API, an instance metadata service, and loop devices that appear on attach.

Run as a program it does a command beside a driver in mode `all`: `ebs_rig.py FOLDER COMMAND…`, where `{socket}` in the
command is the driver's address. It wants namespaces of its own (mount, network, process), so that it leaves nothing.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

PROJECT = Path(__file__).resolve().parents[2]
REGION = "us-west-2"
ZONE = "us-west-2a"
LINK_PREFIX = "nvme-Amazon_Elastic_Block_Store_"
EC2_PORT = 46111
IMDS_PORT = 46112

# The machine may have no /dev/disk, and making it would change the machine: the driver is told of another folder.
DRIVER = """
import sys
from pathlib import Path
from sandbox.csi import logs
from sandbox.ebs_csi_driver.devices import DeviceFinder
from sandbox.ebs_csi_driver.driver import Driver
from sandbox.ebs_csi_driver.options import parse_options, split_mode
options = parse_options(*split_mode(sys.argv[2:]))
logs.set_up(verbosity=options.verbosity, as_json=False)
sys.exit(Driver(options, finder=DeviceFinder(Path(sys.argv[1]))).run())
"""

NAMESPACES = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]


def documents(instance_id: str) -> dict[str, str]:
    """What the metadata service answers, by path."""
    credentials = {
        "Code": "Success",
        "Type": "AWS-HMAC",
        "AccessKeyId": "rig",
        "SecretAccessKey": "rig",
        "Token": "rig",
        "Expiration": "2099-01-01T00:00:00Z",
        "LastUpdated": "2026-01-01T00:00:00Z",
    }
    identity = {"instanceId": instance_id, "instanceType": "m5.large", "availabilityZone": ZONE, "region": REGION}
    return {
        "/latest/dynamic/instance-identity/document": json.dumps(identity),
        "/latest/meta-data/network/interfaces/macs/": "02:00:00:00:00:01/",
        "/latest/meta-data/block-device-mapping/": "ami\nroot",
        "/latest/meta-data/iam/security-credentials/": "node",
        "/latest/meta-data/iam/security-credentials/node": json.dumps(credentials),
    }


def serve_imds(found: dict[str, str], port: int) -> ThreadingHTTPServer:
    """IMDSv2: a token is needed for every document."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self, status: int, body: str) -> None:
            self.send_response(status)
            self.send_header("X-aws-ec2-metadata-token-ttl-seconds", "300")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def do_PUT(self) -> None:
            self._answer(200, "token")

        def do_GET(self) -> None:
            if self.headers.get("X-aws-ec2-metadata-token") != "token":
                self._answer(401, "")
            else:
                self._answer(200 if self.path in found else 404, found.get(self.path, ""))

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    return server


class LoopDevices:
    """A volume's image file behind a loop device, under the link NVMe devices have."""

    def __init__(self, folder: Path) -> None:
        self.images = folder
        self.by_id_dir = folder / "by-id"
        self.devices: dict[str, str] = {}

    def attach(self, volume_id: str, size_gib: int) -> str:
        image = self.images / volume_id
        with image.open("ab") as file:
            file.truncate(size_gib * 1024**3)
        device = subprocess.run(
            ["losetup", "--find", "--show", str(image)], check=True, capture_output=True, text=True
        ).stdout.strip()
        self.devices[volume_id] = device
        self.by_id_dir.mkdir(parents=True, exist_ok=True)
        (self.by_id_dir / (LINK_PREFIX + volume_id.replace("-", ""))).symlink_to(device)
        return device

    def resize(self, volume_id: str, size_gib: int) -> None:
        with (self.images / volume_id).open("ab") as file:
            file.truncate(size_gib * 1024**3)
        if device := self.devices.get(volume_id):
            subprocess.run(["losetup", "--set-capacity", device], check=True)

    def detach(self, volume_id: str) -> None:
        if device := self.devices.pop(volume_id, None):
            (self.by_id_dir / (LINK_PREFIX + volume_id.replace("-", ""))).unlink(missing_ok=True)
            subprocess.run(["losetup", "--detach", device], check=True)

    def detach_all(self) -> None:
        for volume_id in list(self.devices):
            with suppress(subprocess.CalledProcessError):
                self.detach(volume_id)


def plug_into_moto(loops: LoopDevices) -> None:
    """From here on this process's moto attaches, detaches and resizes for real."""
    from moto.ec2.models.elastic_block_store import EBSBackend  # noqa: PLC0415

    attach, detach, modify = EBSBackend.attach_volume, EBSBackend.detach_volume, EBSBackend.modify_volume

    def attach_volume(self: Any, volume_id: str, instance_id: str, device_path: str, *args: Any, **kwargs: Any) -> Any:
        made = attach(self, volume_id, instance_id, device_path, *args, **kwargs)
        if made is not None and not device_path.startswith("/dev/sda"):
            loops.attach(volume_id, made.volume.size)
        return made

    def detach_volume(self: Any, volume_id: str, instance_id: str, device_path: str) -> Any:
        done = detach(self, volume_id, instance_id, device_path)
        loops.detach(volume_id)
        return done

    def modify_volume(self: Any, volume_id: str, *args: Any, **kwargs: Any) -> Any:
        volume = modify(self, volume_id, *args, **kwargs)
        loops.resize(volume_id, volume.size)
        return volume

    EBSBackend.attach_volume, EBSBackend.detach_volume = attach_volume, detach_volume
    EBSBackend.modify_volume = modify_volume


@contextmanager
def driver_process(folder: Path, env: dict[str, str], *flags: str) -> Iterator[str]:
    """A driver in mode all; its endpoint."""
    socket = folder / "csi.sock"
    argv = [sys.executable, "-c", DRIVER, str(folder / "by-id"), "all", f"--endpoint=unix://{socket}", *flags]
    with (folder / "driver.log").open("wb") as log:
        process = subprocess.Popen(argv, env=env | {"PYTHONPATH": str(PROJECT)}, stderr=log)
    try:
        deadline = time.monotonic() + 20
        while not socket.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError((folder / "driver.log").read_text())
            time.sleep(0.01)
        yield f"unix://{socket}"
    finally:
        process.terminate()
        process.wait(timeout=20)


def main(folder: Path, command: list[str]) -> int:
    """Run the command beside a driver; its exit status."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    env = {key: value for key, value in os.environ.items() if not key.startswith("AWS_")}
    os.environ.update(AWS_ACCESS_KEY_ID="rig", AWS_SECRET_ACCESS_KEY="rig", AWS_DEFAULT_REGION=REGION)

    import boto3  # noqa: PLC0415
    from moto.server import ThreadedMotoServer  # noqa: PLC0415

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    loops = LoopDevices(folder)
    plug_into_moto(loops)
    server = ThreadedMotoServer("127.0.0.1", EC2_PORT, verbose=False)
    server.start()
    endpoint = f"http://127.0.0.1:{EC2_PORT}"
    ec2 = boto3.client("ec2", endpoint_url=endpoint)
    image = ec2.describe_images()["Images"][0]["ImageId"]
    made = ec2.run_instances(ImageId=image, MinCount=1, MaxCount=1, Placement={"AvailabilityZone": ZONE})
    serve_imds(documents(made["Instances"][0]["InstanceId"]), IMDS_PORT)
    env |= {"AWS_EC2_ENDPOINT": endpoint, "AWS_EC2_METADATA_SERVICE_ENDPOINT": f"http://127.0.0.1:{IMDS_PORT}"}
    try:
        with driver_process(folder, env, "--v=5", "--aws-sdk-debug-log") as socket:
            argv = [part.replace("{socket}", socket) for part in command]
            return subprocess.run(argv, check=False, env=os.environ | {"RIG_ENDPOINT": endpoint}).returncode
    finally:
        server.stop()
        loops.detach_all()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
