"""What the program asks before it knows its settings, and how the answers reach it."""

import importlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from google.protobuf.struct_pb2 import Struct
from pulumi.runtime import settings
from pulumi.runtime.proto import provider_pb2

from program.prefetch import Questions, Unanswered


class _Refusal(grpc.RpcError):
    def __init__(self, said: str) -> None:
        super().__init__(said)
        self._said = said

    def details(self) -> str:
        return self._said


class _Monitor:
    """The engine's side of a question."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.reply: Callable[[Any], dict[str, Any]] = lambda _request: {}
        self.lock = threading.Lock()

    def Invoke(self, request: Any) -> Any:  # noqa: N802 - the protocol's name
        with self.lock:
            self.asked.append(request)
        answer, given = provider_pb2.InvokeResponse(), Struct()
        given.update(self.reply(request))
        getattr(answer, "return").CopyFrom(given)
        return answer


@pytest.fixture
def monitor() -> Iterator[_Monitor]:
    before = settings.SETTINGS.monitor
    fake = _Monitor()
    settings.SETTINGS.monitor = fake
    yield fake
    settings.SETTINGS.monitor = before


def _sdk_version(package: str) -> Any:
    return importlib.import_module(f"{package}._utilities").get_version()


def test_the_first_questions_go_to_the_providers_that_the_resources_use(monitor: _Monitor) -> None:
    asked = Questions()
    for question in (asked.identity, asked.zones, asked.cluster, asked.plugins):
        question.result(10)
    # Another version would be another default provider, with a plugin of its own.
    assert {request.tok.split(":")[0]: request.version for request in monitor.asked} == {
        "aws": _sdk_version("pulumi_aws"),
        "nomad": _sdk_version("pulumi_nomad"),
        "nomad-csi": "",
    }


def test_no_question_waits_for_another(monitor: _Monitor) -> None:
    together = threading.Barrier(4)

    def meet(_request: Any) -> dict[str, Any]:
        together.wait(10)
        return {}

    monitor.reply = meet
    asked = Questions()
    assert [one.result(10) for one in (asked.identity, asked.zones, asked.cluster, asked.plugins)] == [{}] * 4


def test_an_answer_is_plain_values(monitor: _Monitor) -> None:
    monitor.reply = lambda request: {"names": ["a", "b"], "state": request.args["state"], "nested": {"on": True}}
    assert Questions().zones.result(10) == {"names": ["a", "b"], "state": "available", "nested": {"on": True}}


def test_a_refusal_has_the_plugins_words_alone(monitor: _Monitor) -> None:
    def refuse(_request: Any) -> dict[str, Any]:
        raise _Refusal("invocation of aws:iam/getRole:getRole returned an error: no such role.")

    monitor.reply = refuse
    with pytest.raises(Unanswered, match=r"^no such role$"):
        Questions().ask("aws:iam/getRole:getRole", {"name": "x"}).result(10)
