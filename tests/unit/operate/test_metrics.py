"""What `nomad-stateful metrics` reads from the stack, Nomad and EC2, and how it is served."""

import json
import threading
from argparse import ArgumentTypeError, Namespace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.request import urlopen
from wsgiref.simple_server import make_server

import pytest
from prometheus_client.parser import text_string_to_metric_families

from nomad_stateful.nomad.api import NomadApi, NomadUnreachable
from nomad_stateful.operate import stack
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.metrics import command, reading, server
from nomad_stateful.operate.metrics.gauges import GAUGES, Gauges
from nomad_stateful.operate.metrics.server import targets
from nomad_stateful.operate.point_in_time import logs
from nomad_stateful.operate.point_in_time.logs import late
from tests.fake_nomad import FakeNomad
from tests.fake_nomad.jobs import ended
from tests.unit.aws import PLACE, REGION
from tests.unit.operate.point_in_time.test_logs import FakeS3

NODE = "node-1"
ZONE = f"{REGION}a"


@pytest.fixture
def nomad(nomad: FakeNomad, monkeypatch: pytest.MonkeyPatch) -> FakeNomad:
    for module in (reading, server):
        monkeypatch.setattr(module, "connect", lambda: NomadApi.from_env({"address": nomad.address}))
    monkeypatch.setattr(stack, "namespace", lambda: "default")
    return nomad


@pytest.fixture
def volume_id(ec2: Any, nomad: FakeNomad, monkeypatch: pytest.MonkeyPatch) -> str:
    """A stack with MySQL on a volume of EBS, dumps, a plugin that is healthy on one of two clients of its zone."""
    made = str(ec2.create_volume(AvailabilityZone=ZONE, Size=2)["VolumeId"])
    known = {
        "volumes": {"mysql": {"id": made, "nomadId": "mysql", "zone": ZONE, "plugin": "aws-ebs0"}},
        "plugins": {"aws-ebs0": {}},
        "mysql": {"job": "mysql-server", "namespace": "default"},
        "mysqlBackup": {"job": "mysql-backup"},
    }
    config = {
        "nomad-stateful:plugins": [{"id": "aws-ebs0", "controllers": 3}],
        "nomad-stateful:volumes": [{"name": "mysql", "snapshots": [{"name": "daily"}]}],
    }
    monkeypatch.setattr(stack, "aws_place", lambda: PLACE)
    monkeypatch.setattr(stack, "outputs", lambda: known)
    monkeypatch.setattr(stack, "config", lambda: config)
    attributes = {"platform.aws.placement.availability-zone": ZONE}
    for one in (NODE, "node-2"):
        nomad.put(f"node/{one}", {"Status": "ready", "Attributes": attributes, "HTTPAddr": "h"})
    healthy = {"Healthy": True}
    controllers = {"a1": healthy, "a2": {"Healthy": False}}
    nomad.put("plugin/csi/aws-ebs0", {"Controllers": controllers, "Nodes": {NODE: healthy, "node-2": {}}})
    nomad.put("volume/csi/mysql", {"PluginID": "aws-ebs0", "ExternalID": made})
    claimed(nomad, "running")
    return made


def claimed(nomad: FakeNomad, status: str) -> None:
    allocation = {"ID": "8f3c2a1b", "NodeID": NODE, "JobID": "mysql-server", "Namespace": "default"}
    stub = {**allocation, "ClientStatus": status, "DesiredStatus": "run"}
    nomad.change("volume/csi/mysql", Allocations=[stub], WriteAllocs={"8f3c2a1b": None})
    nomad.put("job/mysql-server", {})


def read() -> tuple[dict[str, float], list[str]]:
    """Returns the samples as Prometheus would show them, and what did not answer."""
    said: list[str] = []
    gauges = reading.read(said.append)
    found = {}
    for family in gauges.families():
        for sample in family.samples:
            labels = ",".join(f"{key}={value}" for key, value in sorted(sample.labels.items()))
            found[f"{sample.name.removeprefix('nomad_stateful_')}{{{labels}}}"] = sample.value
    return found, said


def test_plugins_count_what_is_asked_for_and_what_is_healthy_by_zone(volume_id: str) -> None:
    found, said = read()
    assert said == []
    assert found["plugin_controllers{plugin=aws-ebs0}"] == 3
    assert found["plugin_controllers_healthy{plugin=aws-ebs0}"] == 1
    assert found[f"plugin_nodes{{plugin=aws-ebs0,zone={ZONE}}}"] == 2
    assert found[f"plugin_nodes_healthy{{plugin=aws-ebs0,zone={ZONE}}}"] == 1


def test_clients_count_by_zone_and_by_whether_they_take_work(volume_id: str, nomad: FakeNomad) -> None:
    nomad.change(f"node/{NODE}", SchedulingEligibility="ineligible")
    nomad.change("node/node-2", Status="down")
    found, _ = read()
    counts = {name: count for name, count in found.items() if name.startswith("clients{")}
    assert counts == {
        f"clients{{status=ready,zone={ZONE}}}": 0,
        f"clients{{status=ineligible,zone={ZONE}}}": 1,
        f"clients{{status=down,zone={ZONE}}}": 1,
    }


def test_a_zone_with_a_volume_and_no_node_plugin_lacks_one(volume_id: str, nomad: FakeNomad) -> None:
    nomad.put("plugin/csi/aws-ebs0", None)
    found, _ = read()
    assert found[f"plugin_nodes{{plugin=aws-ebs0,zone={ZONE}}}"] == 1
    assert found[f"plugin_nodes_healthy{{plugin=aws-ebs0,zone={ZONE}}}"] == 0
    assert found["plugin_controllers_healthy{plugin=aws-ebs0}"] == 0


@pytest.mark.parametrize(("status", "dead"), [("running", 0), ("pending", 0), ("lost", 1), ("failed", 1)])
def test_a_claim_is_dead_when_its_allocation_has_ended(
    volume_id: str, nomad: FakeNomad, status: str, dead: float
) -> None:
    claimed(nomad, status)
    found, _ = read()
    assert found["volume_claims{volume=mysql}"] == 1
    assert found["volume_dead_claims{volume=mysql}"] == dead


def test_the_newest_complete_snapshot_counts_and_failed_ones_are_seen(volume_id: str, ec2: Any) -> None:
    found, _ = read()
    assert found["volume_snapshots{state=completed,volume=mysql}"] == 0
    assert not any(name.startswith("volume_newest_snapshot") for name in found)
    assert found["volume_snapshot_schedules{volume=mysql}"] == 1
    taken = ec2.create_snapshot(VolumeId=volume_id)
    found, _ = read()
    started = ec2.describe_snapshots(SnapshotIds=[taken["SnapshotId"]])["Snapshots"][0]["StartTime"].timestamp()
    assert found["volume_newest_snapshot_timestamp_seconds{volume=mysql}"] == pytest.approx(started)


def test_dumps_tell_the_newest_success_and_the_runs_that_fail(volume_id: str, nomad: FakeNomad) -> None:
    def run(number: int, **summary: int) -> dict[str, Any]:
        launched = {"ID": f"mysql-backup/periodic-{number}", "ParentID": "mysql-backup", "Status": "dead"}
        return {**launched, "SubmitTime": number * 10**9, "JobSummary": {"Summary": {"dump": summary}}}

    # The one that failed before another succeeded is no news any more.
    # Nor is one a success that was stopped on its way: a drain with --stop-batch does that.
    runs = [run(100, Complete=1), run(150, Failed=1), run(200, Complete=1, Failed=1), run(300, Complete=1, Failed=5)]
    nomad.put("jobs", [*runs, run(400, Complete=1)])
    failed = {"ID": "a1", "ClientStatus": "failed", "CreateIndex": 1, "TaskStates": {"dump": ended(1)}}
    done = {"ID": "a2", "ClientStatus": "complete", "CreateIndex": 2, "TaskStates": {"dump": ended(0)}}
    stopped = done | {"TaskStates": {"dump": ended(137, killed=True)}}
    known = {100: [done], 150: [failed], 200: [failed, done], 300: [failed, stopped], 400: [stopped]}
    for number, allocations in known.items():
        nomad.put(f"job/mysql-backup/periodic-{number}/allocations", allocations)
    found, _ = read()
    assert found["dump_last_success_timestamp_seconds{nomad_job=mysql-backup}"] == 200
    assert found["dump_failing_runs{nomad_job=mysql-backup}"] == 1
    # Allocations that Nomad has collected are in the run's summary alone.
    nomad.put("job/mysql-backup/periodic-400/allocations", [])
    found, _ = read()
    assert found["dump_last_success_timestamp_seconds{nomad_job=mysql-backup}"] == 400
    assert found["dump_failing_runs{nomad_job=mysql-backup}"] == 0
    assert found["dump_scheduled{nomad_job=mysql-backup}"] == 1


def test_binary_logs_tell_until_when_they_are_in_s3(volume_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    objects: dict[str, bytes] = {}
    monkeypatch.setattr(logs, "aws_client", lambda *_: FakeS3(objects))
    where = {"bucket": "logs", "prefix": "dev/", "region": REGION}
    known = {**stack.outputs(), "mysqlPointInTime": where}
    monkeypatch.setattr(stack, "outputs", lambda: known)
    found, _ = read()
    assert found["binlogs_expected{nomad_job=mysql-server}"] == 1
    assert not any(name.startswith("binlogs_until") for name in found)
    assert "have not begun" in late(where, stack.aws_place())
    for age_s, is_late in ((30, False), (240, True)):
        reached = datetime.now(UTC).replace(microsecond=0) - timedelta(seconds=age_s)
        objects["dev/binlogs/until"] = f"{reached:%Y-%m-%dT%H:%M:%SZ}\n".encode()
        found, _ = read()
        assert found["binlogs_until_timestamp_seconds{nomad_job=mysql-server}"] == reached.timestamp()
        assert ("4 min behind" in late(where, stack.aws_place())) == is_late
    objects["dev/binlogs/until"] = f"{datetime.now(UTC) + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}\n".encode()
    assert "said to reach 60 min into the future" in late(where, stack.aws_place())


def test_what_nomad_does_not_answer_leaves_what_ec2_answers(
    volume_id: str, nomad: FakeNomad, monkeypatch: pytest.MonkeyPatch
) -> None:
    nomad.refuse("nodes", 403, "Permission denied")
    found, said = read()
    assert (found["read_success{source=nomad}"], found["read_success{source=ec2}"]) == (0, 1)
    assert found["volume_snapshots{state=completed,volume=mysql}"] == 0
    assert said[0].startswith("nomad: ")


def test_without_a_stack_only_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> dict[str, Any]:
        raise stack.StackError("the project has no stack here")

    monkeypatch.setattr(stack, "outputs", fail)
    found, said = read()
    assert [name for name in found if not name.startswith("read_")] == []
    assert said == ["stack: the project has no stack here"]


def test_a_gauge_takes_the_labels_it_has() -> None:
    with pytest.raises(ValueError, match="has the labels"):
        Gauges().set("volume_claims", value=1)


def test_scrapes_that_come_together_read_once_and_targets_are_served(nomad: FakeNomad) -> None:
    reads = []

    def once(_said: Any) -> Gauges:
        reads.append(1)
        gauges = Gauges()
        gauges.set("volume_claims", "mysql", value=len(reads))
        return gauges

    nomad.put("services", [])
    app = server.application(server.Collector(once))
    with make_server("127.0.0.1", 0, app, handler_class=server._Handler) as served:
        thread = threading.Thread(target=served.serve_forever, args=(0.01,))
        thread.start()
        try:
            texts = [get(served.server_port, "/metrics") for _ in range(2)]
            found, _again = [json.loads(get(served.server_port, "/targets")) for _ in range(2)]
        finally:
            served.shutdown()
            thread.join()
    assert reads == [1]
    assert texts[0] == texts[1]
    [family] = text_string_to_metric_families(texts[0])
    assert (family.name, family.samples[0].labels) == ("nomad_stateful_volume_claims", {"volume": "mysql"})
    assert [one["labels"]["job"] for one in found] == ["nomad-server"]
    assert nomad.requested("GET").count("services") == 1


def test_targets_without_nomad_are_an_error_and_no_empty_list(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def away() -> NomadApi:
        raise NomadUnreachable("no server answers")

    monkeypatch.setattr(server, "connect", away)
    monkeypatch.setattr(stack, "namespace", lambda: "default")
    answered: list[str] = []
    app = server.application(server.Collector())
    assert app({"PATH_INFO": "/targets"}, lambda status, _headers: answered.append(status)) == [
        b"Nomad or the stack does not answer\n"
    ]
    assert answered == ["503 Service Unavailable"]
    assert "warning: /targets: no server answers" in capsys.readouterr().err


def get(port: int, path: str) -> str:
    with urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
        return str(answer.read().decode())


def test_targets_are_the_services_with_the_tag_and_the_agents(nomad: FakeNomad) -> None:
    service = {"ServiceName": "csi-driver-metrics", "Tags": ["prometheus", "plugin=aws-ebs0", "role=node"]}
    other = {"ServiceName": "mysql-server", "Tags": []}
    nomad.put("services", [{"Namespace": "default", "Services": [service, other]}])
    nomad.put("service/csi-driver-metrics", [{**service, "Address": "10.0.0.5", "Port": 23456}])
    ready, down, collected = ({"ID": one, "Status": one} for one in ("ready", "down", "disconnected"))
    nomad.put("nodes", [ready, down, collected])
    nomad.put("node/ready", ready | {"HTTPAddr": "10.0.0.5:4646"})
    nomad.put("node/down", down | {"HTTPAddr": "10.0.0.6:4646"})
    driver, client, agent = targets(nomad.api, "default")
    assert driver == {
        "targets": ["10.0.0.5:23456"],
        "labels": {"job": "csi-driver-metrics", "instance": "10.0.0.5", "plugin": "aws-ebs0", "role": "node"},
    }
    assert client["targets"] == ["10.0.0.5:4646"]
    assert client["labels"]["__metrics_path__"] == agent["labels"]["__metrics_path__"] == "/v1/metrics"


def test_a_service_chooses_neither_path_nor_job_nor_address_of_what_is_scraped(nomad: FakeNomad) -> None:
    tags = ["prometheus", "job=mysql-metrics", "instance=10.0.0.1", "__address__=a", "__metrics_path__=/x", "role=node"]
    service = {"ServiceName": "other", "Tags": tags}
    nomad.put("services", [{"Namespace": "shop", "Services": [service]}, {"Namespace": "x", "Services": [service]}])
    nomad.put("service/other", [{**service, "Address": "10.0.0.5", "Port": 80}], namespace="shop")
    found, _agent = targets(nomad.api, "shop")
    assert found == {"targets": ["10.0.0.5:80"], "labels": {"job": "other", "instance": "10.0.0.5", "role": "node"}}
    asked = [asked.query["namespace"] for asked in nomad.requests if asked.path.startswith("service")]
    assert asked == ["shop", "shop"]


@pytest.mark.parametrize(
    ("given", "wanted"),
    [("127.0.0.1:9911", ("127.0.0.1", 9911)), (":9911", ("0.0.0.0", 9911)), ("[::1]:1", ("::1", 1))],
)
def test_an_address_to_listen_on_has_a_port(given: str, wanted: tuple[str, int]) -> None:
    assert command.address(given) == wanted
    for wrong in ("9911x", "localhost", "127.0.0.1:70000"):
        with pytest.raises(ArgumentTypeError, match="ADDRESS:PORT"):
            command.address(wrong)


def test_a_file_that_cannot_be_written_is_named(volume_id: str, tmp_path: Path) -> None:
    command.run(Namespace(listen=None, output=tmp_path / "stack.prom"))
    assert "nomad_stateful_volume_info" in (tmp_path / "stack.prom").read_text(encoding="utf-8")
    with pytest.raises(OperateError, match="Name a file in a folder that is there"):
        command.run(Namespace(listen=None, output=tmp_path / "missing" / "stack.prom"))


def test_each_metric_is_in_the_documentation() -> None:
    page = (Path(__file__).parents[3] / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert [name for name in GAUGES if f"`nomad_stateful_{name}`" not in page] == []
