"""What a CSI driver's node finds around itself: an instance metadata service, and loop devices under NVMe's links."""

from __future__ import annotations

import json
import subprocess
from contextlib import suppress
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
