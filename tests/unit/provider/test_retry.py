"""Requests to Nomad that fail with a transient error are sent again, with backoff and jitter, up to a deadline."""

import threading
import time

import pytest

from nomad_stateful import waiting
from nomad_stateful.nomad import api as nomad_api
from nomad_stateful.nomad.api import NomadApi, NomadApiError, NomadUnreachable
from nomad_stateful.waiting import Backoff, RetryPolicy
from tests.fake_nomad import FakeNomad


@pytest.fixture(autouse=True)
def short_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "FIRST_BACKOFF_S", 0.01)


@pytest.fixture
def api(nomad: FakeNomad) -> NomadApi:
    return nomad.client(RetryPolicy(20))


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (429, "Too Many Requests"),
        (500, "No cluster leader"),
        (502, ""),
        (500, "rpc error: EOF"),
        (500, "rpc error: stream closed"),
        (503, "starting"),
    ],
)
def test_a_transient_error_is_retried(nomad: FakeNomad, api: NomadApi, status: int, text: str) -> None:
    nomad.put("job/a", {})
    nomad.refuse("job/a", status, text, times=2)
    assert api.get("job/a")["ID"] == "a"
    assert nomad.requested("GET") == ["job/a"] * 3


@pytest.mark.parametrize(
    ("status", "text"),
    [(400, "bad job"), (403, "Permission denied"), (500, "rpc error: driver said no"), (404, "not found")],
)
def test_any_other_error_is_raised_at_once(nomad: FakeNomad, api: NomadApi, status: int, text: str) -> None:
    nomad.refuse("job/a", status, text)
    with pytest.raises(NomadApiError, match=str(status)):
        api.get("job/a")
    assert nomad.requested("GET") == ["job/a"]


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_a_write_is_retried_too(nomad: FakeNomad, api: NomadApi, method: str) -> None:
    nomad.put("var/a", {"Items": {"key": "earlier"}})
    nomad.refuse("var/a", 500, "No cluster leader", times=1)
    api.delete("var/a") if method == "DELETE" else api.put("var/a", {"Items": {"key": "value"}})
    assert nomad.requested(method) == ["var/a"] * 2
    assert (api.find("var/a") or {}).get("Items") == (None if method == "DELETE" else {"key": "value"})


def test_without_a_retry_policy_nothing_is_sent_twice(nomad: FakeNomad) -> None:
    nomad.refuse("job/a", 500, "No cluster leader")
    with pytest.raises(NomadApiError, match="No cluster leader"):
        nomad.api.get("job/a")
    assert len(nomad.requests) == 1


def test_retries_end_and_the_last_error_is_raised(nomad: FakeNomad) -> None:
    nomad.refuse("job/a", 500, "No cluster leader")
    with pytest.raises(NomadApiError, match="No cluster leader"):
        nomad.client(RetryPolicy(0.2)).get("job/a")
    assert 1 < len(nomad.requests) < 12, "backoff grows"


def test_a_cancel_ends_the_retries(nomad: FakeNomad) -> None:
    nomad.refuse("job/a", 500, "No cluster leader")
    cancelled = threading.Event()

    def cancel() -> None:
        nomad.wait_for_request("job/a")
        cancelled.set()

    thread = threading.Thread(target=cancel)
    thread.start()
    with pytest.raises(NomadApiError, match="No cluster leader"):
        nomad.client(RetryPolicy(600, cancelled)).get("job/a")
    thread.join()


def test_a_first_look_at_a_wrong_address_does_not_wait() -> None:
    client = NomadApi("http://127.0.0.1:9", retry=RetryPolicy(600))
    with pytest.raises(NomadUnreachable, match="NOMAD_ADDR"):
        client.reach()
    client.close()


def test_an_address_that_never_answered_is_not_retried_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nomad_api, "FIRST_ANSWER_S", 0.0)
    waits: list[float] = []
    ended = threading.Event()

    def wait(seconds: float) -> bool:
        waits.append(seconds)
        return True

    monkeypatch.setattr(ended, "wait", wait)
    client = NomadApi("http://127.0.0.1:9", retry=RetryPolicy(600, ended))
    with pytest.raises(NomadUnreachable, match="NOMAD_ADDR"):
        client.get("job/a")
    client.close()
    assert waits == []


def test_a_server_that_refuses_is_reached(nomad: FakeNomad, api: NomadApi) -> None:
    nomad.refuse("status/leader", 500, "No cluster leader")
    api.reach()


def test_a_server_may_ask_for_a_longer_backoff() -> None:
    began = time.monotonic()
    attempts = RetryPolicy(0.5).attempts()
    assert attempts.another(0.1)
    assert time.monotonic() - began >= 0.1
    assert not attempts.another(10)


def test_backoff_doubles_up_to_a_limit_with_jitter() -> None:
    runs = [[backoff.next() for _ in range(6)] for backoff in (Backoff(1, 8) for _ in range(20))]
    for pause, full in zip(zip(*runs, strict=True), (1, 2, 4, 8, 8, 8), strict=True):
        assert all(full / 2 <= one <= full for one in pause)
    assert len({run[0] for run in runs}) > 1, "clients that failed together must not come back together"
