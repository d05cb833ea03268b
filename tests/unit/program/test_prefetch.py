"""What the program calls before it knows its settings, and how the answers reach it."""

import importlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from google.protobuf.struct_pb2 import Struct
from pulumi.runtime import settings
from pulumi.runtime.proto import provider_pb2

from nomad_stateful.program.prefetch import CallError, Prefetch


class Refusal(grpc.RpcError):
    def __init__(self, said: str) -> None:
        super().__init__(said)
        self._said = said

    def details(self) -> str:
        return self._said


class Monitor:
    """The engine's side of a call."""

    def __init__(self) -> None:
        self.called: list[Any] = []
        self.reply: Callable[[Any], dict[str, Any]] = lambda _request: {}
        self.lock = threading.Lock()

    def Invoke(self, request: Any) -> Any:  # noqa: N802 - the protocol's name
        with self.lock:
            self.called.append(request)
        answer, given = provider_pb2.InvokeResponse(), Struct()
        given.update(self.reply(request))
        getattr(answer, "return").CopyFrom(given)
        return answer


@pytest.fixture
def monitor() -> Iterator[Monitor]:
    before = settings.SETTINGS.monitor
    fake = Monitor()
    settings.SETTINGS.monitor = fake
    yield fake
    settings.SETTINGS.monitor = before


def _sdk_version(package: str) -> Any:
    return importlib.import_module(f"{package}._utilities").get_version()


def test_the_first_calls_go_to_the_providers_that_the_resources_use(monitor: Monitor) -> None:
    prefetch = Prefetch()
    for call in (prefetch.identity, prefetch.zones, prefetch.cluster, prefetch.plugins):
        call.result(10)
    # Another version would be another default provider, with a plugin of its own.
    assert {request.tok.split(":")[0]: request.version for request in monitor.called} == {
        "aws": _sdk_version("pulumi_aws"),
        "nomad": _sdk_version("pulumi_nomad"),
        "nomad-csi": "",
    }


def test_no_call_waits_for_another(monitor: Monitor) -> None:
    together = threading.Barrier(4)

    def meet(_request: Any) -> dict[str, Any]:
        together.wait(10)
        return {}

    monitor.reply = meet
    prefetch = Prefetch()
    calls = (prefetch.identity, prefetch.zones, prefetch.cluster, prefetch.plugins)
    assert [call.result(10) for call in calls] == [{}] * 4


def test_an_answer_is_plain_values(monitor: Monitor) -> None:
    monitor.reply = lambda request: {"names": ["a", "b"], "state": request.args["state"], "nested": {"on": True}}
    assert Prefetch().zones.result(10) == {"names": ["a", "b"], "state": "available", "nested": {"on": True}}


def test_a_refusal_has_the_plugins_words_alone(monitor: Monitor) -> None:
    def refuse(_request: Any) -> dict[str, Any]:
        raise Refusal("invocation of aws:iam/getRole:getRole returned an error: no such role.")

    monitor.reply = refuse
    with pytest.raises(CallError, match=r"^no such role$"):
        Prefetch().call("aws:iam/getRole:getRole", {"name": "x"}).result(10)
