"""What waits: for an answer within a limit, for another attempt, for ever until it is ended."""

import threading

import pytest

from nomad_stateful.errors import ProviderError
from nomad_stateful.waiting import Context, Pending, Progress, RetryPolicy, Stopwatch, repeat


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a wait logs, at once."""
    monkeypatch.setattr(Progress, "INTERVAL_S", 0.0)
    return []


def reported(said: list[str], limit_s: float, repeat_s: float = 0.0) -> Progress:
    return Progress(Context(sink=lambda _severity, message, _urn, _: said.append(message)), limit_s, repeat_s)


def test_a_wait_returns_the_answer_and_says_meanwhile_what_it_waits_for_and_since_when(said: list[str]) -> None:
    answers: list[str | Pending] = [Pending("waiting until it ends"), Pending("waiting", "no leader"), "it ended"]
    assert reported(said, 60).wait(lambda: answers.pop(0), 0.001) == "it ended"
    assert said == ["waiting until it ends (0 s of at most 60 s)", "waiting (no leader) (0 s of at most 60 s)"]


def test_a_wait_looks_once_more_than_its_limit_and_returns_what_is_pending_then(said: list[str]) -> None:
    pending = Pending("waiting until it ends")
    assert reported(said, 0).wait(lambda: pending, 60) is pending
    assert said == [], "whoever waits says what that means"


def test_a_look_may_ask_for_another_interval() -> None:
    answers = [Pending("waiting", again_s=0.001), "it ended"]
    took = Stopwatch()
    Progress(Context(), 600).wait(lambda: answers.pop(0), 300)
    assert took.seconds < 60


def test_a_limit_may_count_anew_for_the_next_one_of_several() -> None:
    progress = Progress(Context(), 0.005)
    progress.wait(lambda: Pending("waiting"), 0.001)
    assert progress.left_s <= 0
    progress.limit_s = 60
    progress.restart()
    assert progress.left_s > 59


def test_a_wait_ends_when_its_call_is_cancelled() -> None:
    ctx = Context()
    ctx.cancelled.set()
    with pytest.raises(ProviderError, match="cancelled"):
        Progress(ctx, 600).wait(lambda: Pending("waiting"), 300)


def test_what_repeats_ends_by_itself_or_by_its_event() -> None:
    pauses: list[float | None] = [0.001, 0.001, None]
    repeat(lambda: pauses.pop(0))
    assert pauses == []
    ended = threading.Event()

    def once() -> float:
        ended.set()
        return 300.0

    repeat(once, ended)
    repeat(lambda: pytest.fail("it had ended"), ended, first_s=300.0)


def test_attempts_take_the_pauses_of_their_policy_and_end_with_them() -> None:
    attempts = RetryPolicy(600, pauses_s=[0.0, 0.001]).attempts()
    assert [attempts.another() for _ in range(3)] == [True, True, False]
