import threading
import time

import pytest

from nomad_stateful.errors import ProviderError
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.aws import waits
from sandbox.standins.plugins.aws.waits import NotYet, Wait, wait_until

WAIT = Wait("the thing to be done", "it is done", 60)


def never() -> None:
    raise NotYet("still at it")


def test_the_result_is_returned_as_soon_as_there_is_one() -> None:
    answers = iter([NotYet("a"), NotYet("b"), None])

    def probe() -> str:
        if answer := next(answers):
            raise answer
        return "done"

    assert wait_until(Context(), WAIT, probe) == "done"


def test_the_deadline_names_what_was_waited_for_and_what_was_seen_last() -> None:
    with pytest.raises(ProviderError, match=r"timeout after 0 s while waiting for the thing to be done.*still at it"):
        wait_until(Context(timeout_s=0.01), WAIT, never)


def test_a_cancel_ends_a_wait_within_a_second() -> None:
    cancelled = threading.Event()
    threading.Timer(0.3, cancelled.set).start()
    started = time.monotonic()
    with pytest.raises(ProviderError, match="cancelled"):
        wait_until(Context(cancelled=cancelled), WAIT, never)
    assert time.monotonic() - started < 1.3


def test_a_cancel_does_not_wait_for_a_probe_under_way() -> None:
    cancelled, release = threading.Event(), threading.Event()
    threading.Timer(0.2, cancelled.set).start()
    with pytest.raises(ProviderError, match="cancelled"):
        wait_until(Context(cancelled=cancelled), WAIT, lambda: release.wait(30))
    release.set()


def test_progress_says_what_is_waited_for_since_when_and_what_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "_QUIET_S", 0)
    said: list[str] = []
    ctx = Context(timeout_s=0.4, sink=lambda severity, message, urn, ephemeral: said.append(message))
    with pytest.raises(ProviderError):
        wait_until(ctx, WAIT, never)
    assert said[0].startswith("waiting for the thing to be done since ")
    assert "still at it. Ends when it is done, at " in said[0]


def test_an_error_of_the_probe_ends_the_wait() -> None:
    def probe() -> None:
        raise ProviderError("it broke")

    with pytest.raises(ProviderError, match="it broke"):
        wait_until(Context(), WAIT, probe)
