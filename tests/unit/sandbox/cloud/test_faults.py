"""Faults of the sandbox's AWS: when they strike, and what is answered."""

from __future__ import annotations

import json
import random
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sandbox.cloud import ctl
from sandbox.cloud.calls import CallRecorder
from sandbox.cloud.fault_answers import FaultyApi
from sandbox.cloud.faults import Fault, Faults, fault_file, read, switch_off, switch_on
from sandbox.cloud.volume_faults import VolumeFaults
from sandbox.machine.errors import ApiError
from sandbox.settings import SandboxError, SandboxSettings, load_settings
from tests.unit.sandbox.cloud.test_calls import environ
from tools.trial.running import eventually


@pytest.fixture
def settings(tmp_path: Path) -> SandboxSettings:
    found = load_settings({"NOMAD_STATEFUL_SANDBOX_HOME": str(tmp_path)})
    fault_file(found).parent.mkdir()
    return found


@pytest.fixture
def faults(settings: SandboxSettings) -> Faults:
    return Faults(fault_file(settings), random.Random(1))


class Api:
    """An application behind faults and the record of calls; counts what took effect."""

    def __init__(self, faults: Faults, log: Path) -> None:
        self.done: list[bytes] = []
        self.log = log
        self._recorder = CallRecorder(FaultyApi(self._do, faults), log, lambda _key: "someone")

    def _do(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        self.done.append(environ["wsgi.input"].read())
        start_response("200 OK", [])
        return [b"<done/>"]

    def call(self, action: str, service: str = "ec2", connection: Any = None) -> tuple[int, bytes]:
        """With S3, which has no actions, the action is its method and path."""
        method, _, path = action.partition(" ") if service == "s3" else ("POST", "", "/")
        body, seen = "" if service == "s3" else f"Action={action}&Version=1", []
        asked = environ(body, service, method, path) | {"werkzeug.socket": connection}
        answer = b"".join(self._recorder(asked, lambda status, _headers: seen.append(status)))
        return int(seen[-1].split(" ")[0]), answer

    def record(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def close(self) -> None:
        self._recorder.close()


@pytest.fixture
def api(faults: Faults, tmp_path: Path) -> Iterable[Api]:
    made = Api(faults, tmp_path / "calls.jsonl")
    yield made
    made.close()


def test_without_a_fault_every_call_passes(api: Api) -> None:
    assert api.call("DescribeVolumes") == (200, b"<done/>")
    assert "fault" not in api.record()[0]


@pytest.mark.parametrize(
    ("kind", "service", "status", "path", "code"),
    [
        ("throttle", "ec2", 503, "Errors/Error/Code", "RequestLimitExceeded"),
        ("error", "ec2", 500, "Errors/Error/Code", "InternalError"),
        ("throttle", "iam", 400, "{*}Error/{*}Code", "Throttling"),
        ("error", "sts", 500, "{*}Error/{*}Code", "InternalFailure"),
        ("throttle", "s3", 503, "Code", "SlowDown"),
        ("error", "s3", 500, "Code", "InternalError"),
    ],
)
def test_errors_have_the_services_own_form(
    settings: SandboxSettings, api: Api, kind: Any, service: str, status: int, path: str, code: str
) -> None:
    switch_on(settings, Fault("bad day", kind))
    answered, body = api.call("DescribeVolumes", service)
    assert (answered, ET.fromstring(body).findtext(path)) == (status, code)
    assert api.done == [], "what is refused does not take effect"
    assert (api.record()[0]["error"], api.record()[0]["fault"]) == (code, "bad day")


def test_a_fault_strikes_as_often_as_it_is_told_to_and_where(settings: SandboxSettings, api: Api) -> None:
    switch_on(settings, Fault("f", "error", action="Create*", count=2))
    assert [api.call(action)[0] for action in ("DescribeVolumes", *["CreateVolume"] * 3)] == [200, 500, 500, 200]
    switch_on(settings, Fault("f", "error", action="Create*", count=2))
    assert api.call("CreateVolume")[0] == 500, "switched on once more, it counts anew"


def test_a_fault_strikes_one_bucket_of_s3(settings: SandboxSettings, api: Api) -> None:
    switch_on(settings, Fault("f", "error", action="* /dumps/*"))
    answers = [api.call(action, "s3")[0] for action in ("PUT /dumps/a", "GET /dumps/a", "PUT /logs/a")]
    assert answers == [500, 500, 200]
    assert api.call("DescribeVolumes")[0] == 200


def test_a_fault_strikes_with_its_probability(settings: SandboxSettings, api: Api) -> None:
    switch_on(settings, Fault("f", "throttle", probability=0.3))
    refused = sum(api.call("DescribeVolumes")[0] == 503 for _ in range(200))
    assert 30 < refused < 90


def test_switched_off_it_strikes_no_more(settings: SandboxSettings, api: Api) -> None:
    for name in ("a", "b"):
        switch_on(settings, Fault(name, "error"))
    assert switch_off(settings, "a") == ["a"]
    assert api.call("DescribeVolumes")[0] == 500
    assert switch_off(settings) == ["b"]
    assert api.call("DescribeVolumes")[0] == 200


@pytest.mark.parametrize("after", [False, True])
def test_a_dropped_call_is_not_answered_but_may_have_been_done(
    settings: SandboxSettings, api: Api, after: bool
) -> None:
    ended: list[int] = []
    switch_on(settings, Fault("gone", "drop", after=after))
    api.call("CreateVolume", connection=SimpleNamespace(shutdown=ended.append))
    assert len(ended) == 1
    assert len(api.done) == int(after)
    assert api.record()[0]["error"] == "NoAnswer"


@pytest.mark.parametrize("wrong", [{"probability": 0}, {"probability": 1.5}, {"count": -1}, {"seconds": -1}])
def test_a_fault_that_makes_no_sense_is_refused(settings: SandboxSettings, wrong: dict[str, Any]) -> None:
    with pytest.raises(SandboxError, match="probability"):
        switch_on(settings, Fault("f", "error", **wrong))


def test_a_cloud_that_does_not_run_has_no_faults(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="not running"):
        switch_on(load_settings({"NOMAD_STATEFUL_SANDBOX_HOME": str(tmp_path)}), Fault("f", "error"))


def test_the_command_line_switches_on_lists_and_switches_off(
    settings: SandboxSettings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ctl, "load_settings", lambda: settings)
    assert ctl.main(["fault", "on", "throttle", "--action", "Describe*", "--count", "3", "--after"]) == 0
    (fault,) = read(fault_file(settings))
    assert (fault.name, fault.action, fault.count, fault.after) == ("throttle", "Describe*", 3, True)
    assert ctl.main(["fault", "list"]) == 0
    assert "Describe*" in capsys.readouterr().out
    assert ctl.main(["fault", "off"]) == 0
    assert read(fault_file(settings)) == []


class Backend:
    """moto's volumes, as far as faults look at them."""

    def __init__(self) -> None:
        instance = SimpleNamespace(id="i-1", block_device_mapping={"/dev/xvdba": SimpleNamespace(status="attached")})
        self.volume = SimpleNamespace(id="vol-1", attachment=None)
        self.volume.attachment = SimpleNamespace(
            volume=self.volume, instance=instance, device="/dev/xvdba", status="attached"
        )
        self.detached = 0

    def get_volume(self, _volume_id: str) -> Any:
        return self.volume

    def create(self, _backend: Any) -> Any:
        return self.volume

    def describe(self, _backend: Any, _ids: Any, _filters: Any) -> list[Any]:
        return [self.volume]

    def detach(self, *_arguments: Any) -> Any:
        self.detached += 1
        attachment, self.volume.attachment = self.volume.attachment, None
        return attachment


def test_a_new_volume_is_hidden_until_its_time_is_over(settings: SandboxSettings, faults: Faults) -> None:
    backend, volumes = Backend(), VolumeFaults(faults)
    switch_on(settings, Fault("hide", "invisible", seconds=600, count=1))
    volumes.create_volume(backend.create, backend)
    with pytest.raises(ApiError, match=r"InvalidVolume\.NotFound"):
        volumes.describe_volumes(backend.describe, backend, ["vol-1"])
    assert volumes.describe_volumes(backend.describe, backend) == []
    switch_off(settings)
    assert volumes.describe_volumes(backend.describe, backend, ["vol-1"]) == [backend.volume]


def test_a_detachment_is_stuck_until_the_fault_ends(settings: SandboxSettings, faults: Faults) -> None:
    backend, volumes = Backend(), VolumeFaults(faults)
    switch_on(settings, Fault("stuck", "detach"))
    for _ in range(2):
        held = volumes.detach_volume(backend.detach, backend, "vol-1", "i-1", None)
        assert held.status == "detaching"
    assert backend.detached == 0
    switch_off(settings)
    eventually(lambda: backend.detached or None, 10, "the volume comes off")
    assert backend.detached == 1


def test_a_changed_volume_is_as_it_was_and_is_not_attached_until_its_time_is_over(
    settings: SandboxSettings, faults: Faults
) -> None:
    backend, volumes = Backend(), VolumeFaults(faults)
    vars(backend.volume).update(size=1, volume_type="gp3", iops=3000, throughput=125, modifications=[SimpleNamespace()])

    def modify(_backend: Any, _volume_id: str, size: int) -> Any:
        backend.volume.size = size
        return backend.volume

    switch_on(settings, Fault("slow", "modifying", seconds=600, count=1))
    assert volumes.modify_volume(modify, backend, "vol-1", 2).size == 1
    assert backend.volume.modifications[-1].still == "modifying"
    with pytest.raises(ApiError, match="OperationNotPermitted"):
        volumes.attach_volume(backend.create, backend, "vol-1", "i-1", "/dev/xvdb")
    with pytest.raises(ApiError, match="IncorrectModificationState"):
        volumes.modify_volume(modify, backend, "vol-1", 3)
    switch_off(settings)
    eventually(lambda: backend.volume.size == 2 or None, 10, "the volume has its new size")
    eventually(lambda: backend.volume.modifications[-1].still == "optimizing" or None, 10, "it can be changed again")
    assert volumes.modify_volume(modify, backend, "vol-1", 3).size == 3


def test_a_new_snapshot_ends_in_error(settings: SandboxSettings, faults: Faults) -> None:
    volumes = VolumeFaults(faults)
    switch_on(settings, Fault("key", "snapshot", count=1))
    made = [volumes.create_snapshot(lambda _: SimpleNamespace(status="completed"), Backend()) for _ in range(2)]
    assert [snapshot.status for snapshot in made] == ["error", "completed"]
    assert made[0].state_message


def test_a_detachment_takes_its_time_and_ends_by_itself(settings: SandboxSettings, faults: Faults) -> None:
    backend, volumes = Backend(), VolumeFaults(faults)
    switch_on(settings, Fault("slow", "detach", seconds=0.1))
    volumes.detach_volume(backend.detach, backend, "vol-1", "i-1", None)
    eventually(lambda: backend.detached or None, 10, "the volume comes off")
