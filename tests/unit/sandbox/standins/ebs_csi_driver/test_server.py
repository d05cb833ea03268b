"""The driver as a client sees it through its socket."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import grpc
import pytest

from sandbox.standins.csi import logs
from sandbox.standins.csi.endpoint import parse_endpoint
from sandbox.standins.csi.metadata import MetadataClient, MetadataError, NodeIdentity
from sandbox.standins.csi.mounts import parse_mountinfo
from sandbox.standins.ebs_csi_driver.devices import DeviceFinder, DeviceNotFoundError
from sandbox.standins.ebs_csi_driver.metrics import Metrics, serve

IDENTITY = NodeIdentity("i-0abc", "m5.large", "us-west-2a", "us-west-2", network_interfaces=1, block_device_mappings=0)


@pytest.fixture
def channel(csi: Any, tmp_path: Path) -> Iterator[grpc.Channel]:
    """A channel to a node that has an identity and no devices."""
    from sandbox.standins.csi.identity import Identity
    from sandbox.standins.csi.server import start
    from sandbox.standins.ebs_csi_driver.node import NodeService, NodeSettings

    node = NodeService(NodeSettings(), lambda: IDENTITY, DeviceFinder(tmp_path))
    endpoint = parse_endpoint(f"unix://{tmp_path}/csi.sock")
    server = start(endpoint, {"Identity": Identity("ebs.csi.aws.com", "v1.48.0"), "Node": node})
    with grpc.insecure_channel(endpoint.target) as opened:
        yield opened
    server.stop(None).wait()


def call(channel: grpc.Channel, service: str, method: str, request: Any, answer: Any) -> Any:
    sent = type(request).SerializeToString
    return channel.unary_unary(f"/csi.v1.{service}/{method}", sent, answer.FromString)(request, timeout=10)


def test_a_node_says_who_and_where_it_is(csi: Any, channel: grpc.Channel) -> None:
    info = call(channel, "Node", "NodeGetInfo", csi.NodeGetInfoRequest(), csi.NodeGetInfoResponse)
    assert (info.node_id, info.max_volumes_per_node) == ("i-0abc", 26)
    assert info.accessible_topology.segments["topology.ebs.csi.aws.com/zone"] == "us-west-2a"
    plugin = call(channel, "Identity", "GetPluginInfo", csi.GetPluginInfoRequest(), csi.GetPluginInfoResponse)
    assert (plugin.name, plugin.vendor_version) == ("ebs.csi.aws.com", "v1.48.0")


def test_calls_of_a_mode_the_driver_is_not_in_are_unimplemented(csi: Any, channel: grpc.Channel) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        call(channel, "Controller", "DeleteVolume", csi.DeleteVolumeRequest(), csi.DeleteVolumeResponse)
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_a_failed_call_ends_in_its_status(csi: Any, channel: grpc.Channel) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        call(channel, "Node", "NodeStageVolume", csi.NodeStageVolumeRequest(), csi.NodeStageVolumeResponse)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_metrics_are_served_over_http() -> None:
    metrics = Metrics(controller=True, instance_id=lambda: IDENTITY.instance_id)
    metrics.observe_request("AttachVolume", "", 0.3)
    server = serve("127.0.0.1:0", metrics)
    try:
        with urlopen(f"http://127.0.0.1:{server.server_port}/metrics") as answer:
            told = answer.read().decode()
    finally:
        server.shutdown()
        server.server_close()
    name = "aws_ebs_csi_api_request_duration_seconds"
    assert f'{name}_bucket{{request="AttachVolume",le="0.25"}} 0\n' in told
    assert f'{name}_bucket{{request="AttachVolume",le="0.5"}} 1\n' in told
    assert f'{name}_sum{{request="AttachVolume"}} 0.3\n' in told
    assert 'aws_ebs_csi_nvme_collector_scrapes_total{instance_id="i-0abc"} 1\n' in told


def test_secrets_of_a_request_do_not_reach_the_log(csi: Any) -> None:
    from sandbox.standins.csi.sanitize import for_log

    request = csi.NodeStageVolumeRequest(volume_id="vol-1", secrets={"password": "hunter2"})
    shown = for_log(request)
    assert "vol-1" in shown
    assert "hunter2" not in shown
    assert request.secrets["password"] == "hunter2"


def test_verbosity_decides_which_lines_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        logs.set_up(verbosity=2)
        logs.info("seen", level=2, volumeID="vol-1")
        logs.info("unseen", level=3)
        line = capsys.readouterr().err
        assert line.startswith("I")
        assert line.endswith('] "seen" volumeID="vol-1"\n')
        logs.set_up(verbosity=0)
        logs.error("broken", err="why")
        assert capsys.readouterr().err.startswith("E")
    finally:
        logging.getLogger("csi_driver").handlers.clear()


@pytest.fixture
def imds() -> Iterator[Callable[[dict[str, str]], str]]:
    """Starts a metadata service with these documents and gives its address."""
    servers = []

    def run(documents: dict[str, str]) -> str:
        class Handler(BaseHTTPRequestHandler):
            def answer(self, status: int, body: str) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

            def do_PUT(self) -> None:
                self.answer(200, "token")

            def do_GET(self) -> None:
                known = self.headers.get("X-aws-ec2-metadata-token") == "token"
                status = (200 if self.path in documents else 404) if known else 401
                self.answer(status, documents.get(self.path, ""))

            def log_message(self, *_: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        servers.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}"

    yield run
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()


def test_identity_comes_from_the_metadata_service_with_a_token(imds: Callable[[dict[str, str]], str]) -> None:
    document = {
        "instanceId": "i-1",
        "instanceType": "m5.large",
        "availabilityZone": "us-west-2b",
        "region": "us-west-2",
    }
    address = imds(
        {
            "/latest/dynamic/instance-identity/document": json.dumps(document),
            "/latest/meta-data/network/interfaces/macs/": "02:00/\n02:01/",
            "/latest/meta-data/block-device-mapping/": "ami\nroot\nebs1\nephemeral0",
        }
    )
    found = MetadataClient.from_env({"AWS_EC2_METADATA_SERVICE_ENDPOINT": address}).identity()
    assert found == NodeIdentity("i-1", "m5.large", "us-west-2b", "us-west-2", 2, 1)


def test_a_metadata_service_without_identity_or_without_answer_is_an_error(
    imds: Callable[[dict[str, str]], str],
) -> None:
    with pytest.raises(MetadataError, match="identity document"):
        MetadataClient(imds({})).identity()
    with pytest.raises(MetadataError, match="does not answer"):
        MetadataClient("http://127.0.0.1:9").identity_with_retry(attempts=2, pause_s=0)
    with pytest.raises(MetadataError, match="AWS_EC2_METADATA_DISABLED"):
        MetadataClient.from_env({"AWS_EC2_METADATA_DISABLED": "true"})


def test_mountinfo_is_read_with_its_escapes() -> None:
    line = r"36 35 7:3 /sub /mnt/a\040b rw,noatime shared:1 master:2 - ext4 /dev/loop3 rw"
    (mount,) = parse_mountinfo(line + "\nnonsense")
    assert (mount.device, mount.root, mount.path, mount.fs_type) == ((7, 3), "/sub", "/mnt/a b", "ext4")
    assert not mount.read_only


def test_a_volume_without_a_device_is_not_found(tmp_path: Path) -> None:
    finder = DeviceFinder(tmp_path)
    with pytest.raises(DeviceNotFoundError, match="nvme-Amazon_Elastic_Block_Store_vol0a1"):
        finder.find("vol-0a1", "/dev/xvdaa")
    (tmp_path / "nvme-Amazon_Elastic_Block_Store_vol0a1").symlink_to(os.devnull)
    with pytest.raises(DeviceNotFoundError, match="no block device"):
        finder.find("vol-0a1", "/dev/xvdaa")
