"""What the drivers serve for Prometheus: the stand-in has the official one's names and labels, and its counts."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import grpc
import pytest
from prometheus_client.parser import text_string_to_metric_families

from sandbox.cloud import faults
from tests.sandbox.ebs_programs import BOTH, words
from tests.sandbox.local_cloud import Cloud, place, running_cloud
from tests.sandbox.test_ebs_driver_instances import Driver, csi, mounted

__all__ = ["csi"]

pytestmark = [pytest.mark.sandbox, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]

PORTS = {"stand-in": 9180, "official": 9181}
REQUESTS = "aws_ebs_csi_api_request_duration_seconds"
ERRORS, THROTTLES = "aws_ebs_csi_api_request_errors_total", "aws_ebs_csi_api_request_throttles_total"
Samples = Mapping[tuple[str, frozenset[tuple[str, str]]], float]


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    with running_cloud(*place(tmp_path_factory.mktemp("metrics"))) as running:
        yield running


@pytest.fixture(scope="module", params=BOTH)
def drivers(request: pytest.FixtureRequest, cloud: Cloud, csi: Any) -> Iterator[tuple[Driver, int]]:
    """A controller, and the port on which it and a node plugin in another instance serve their metrics."""
    folder = Path(tempfile.mkdtemp(prefix="nstebs-", dir="/var/tmp"))
    flags = (f"--http-endpoint=:{PORTS[request.param]}",)
    program = words(request.param)
    controller = Driver(cloud, "client-1", "controller", folder, csi, program, flags)
    node = Driver(cloud, "client-2", "node", folder, csi, program, flags)
    yield controller, PORTS[request.param]
    controller.close()
    node.close()
    shutil.rmtree(folder)


def scrape(cloud: Cloud, instance: str, port: int) -> Samples:
    told = cloud.run(instance, f"curl --silent --fail --retry 20 --retry-connrefused http://127.0.0.1:{port}/metrics")
    samples = [sample for family in text_string_to_metric_families(told) for sample in family.samples]
    return {(one.name, frozenset(one.labels.items())): one.value for one in samples}


def shape(samples: Samples) -> dict[str, set[tuple[str, ...]]]:
    """Names, and which labels they have."""
    found: dict[str, set[tuple[str, ...]]] = {}
    for name, labels in samples:
        found.setdefault(name, set()).add(tuple(sorted(key for key, _ in labels)))
    return found


def histogram(name: str, *labels: str) -> dict[str, set[tuple[str, ...]]]:
    own = tuple(sorted(labels))
    return {f"{name}_bucket": {tuple(sorted((*own, "le")))}, f"{name}_sum": {own}, f"{name}_count": {own}}


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples.get((name, frozenset(labels.items())), 0)


def test_a_controller_counts_each_try_of_a_request_by_how_it_ended(
    cloud: Cloud, csi: Any, drivers: tuple[Driver, int]
) -> None:
    controller, port = drivers
    before = scrape(cloud, "client-1", port)
    assert ERRORS not in shape(before)
    assert value(before, f"{REQUESTS}_count", request="AttachVolume") == 0
    place = {"requisite": [{"segments": {"topology.ebs.csi.aws.com/zone": "us-west-2a"}}]}
    volume_id = controller(
        "CreateVolume",
        name=f"measured-{id(controller)}",
        volume_capabilities=[mounted(csi, "ext4")],
        accessibility_requirements=place,
    ).volume.volume_id
    faults.switch_on(cloud.settings, faults.Fault("throttle", "throttle", action="AttachVolume", count=2))
    node_id = cloud.instance("client-2").instance_id
    capability = mounted(csi, "ext4")
    controller("ControllerPublishVolume", volume_id=volume_id, node_id=node_id, volume_capability=capability)
    faults.switch_off(cloud.settings)
    controller("ControllerUnpublishVolume", volume_id=volume_id, node_id=node_id)
    with pytest.raises(grpc.RpcError):
        controller(
            "ControllerExpandVolume", volume_id="vol-0123456789abcdef0", capacity_range={"required_bytes": 1 << 31}
        )
    controller("DeleteVolume", volume_id=volume_id)
    after = scrape(cloud, "client-1", port)
    assert shape(after) == {
        **histogram(REQUESTS, "request"),
        ERRORS: {("code", "request")},
        THROTTLES: {("operation_name",)},
        **histogram("aws_ebs_csi_ec2_collector_duration_seconds"),
        "aws_ebs_csi_ec2_collector_scrapes_total": {()},
    }
    made = {name: value(after, f"{REQUESTS}_count", request=name) for name in ("CreateVolume", "AttachVolume")}
    assert made == {"CreateVolume": 1, "AttachVolume": 1}
    assert value(after, THROTTLES, operation_name="AttachVolume") == 2
    assert [dict(labels)["code"] for name, labels in after if name == ERRORS] == ["InvalidVolume.NotFound"]
    known = {dict(labels)["request"] for name, labels in before if name == f"{REQUESTS}_count"}
    assert len(known) == 16
    assert {"AttachVolume", "DetachVolume", "DescribeVolumes", "ModifyVolume"} < known


def test_a_node_plugin_counts_its_reads_of_the_devices(cloud: Cloud, drivers: tuple[Driver, int]) -> None:
    _, port = drivers
    samples = scrape(cloud, "client-2", port)
    assert shape(samples) == {
        **histogram("aws_ebs_csi_nvme_collector_duration_seconds", "instance_id"),
        "aws_ebs_csi_nvme_collector_scrapes_total": {("instance_id",)},
        "aws_ebs_csi_nvme_collector_errors_total": {("instance_id",)},
    }
    own = {"instance_id": cloud.instance("client-2").instance_id}
    assert value(samples, "aws_ebs_csi_nvme_collector_scrapes_total", **own) == 1
    assert value(scrape(cloud, "client-2", port), "aws_ebs_csi_nvme_collector_scrapes_total", **own) == 2


def test_nothing_else_is_served(cloud: Cloud, drivers: tuple[Driver, int]) -> None:
    _, port = drivers
    ask = f"curl --silent --output /dev/null --write-out '%{{http_code}}' http://127.0.0.1:{port}/healthz"
    assert cloud.run("client-1", ask) == "404"
