"""The pool knows whether a call is under way."""

import threading

import pytest

from nomad_stateful.plugin_server.workers import Workers


def test_a_pool_is_busy_until_its_last_call_has_ended() -> None:
    workers = Workers(2)
    first, second = threading.Event(), threading.Event()
    assert not workers.busy
    calls = [workers.submit(event.wait) for event in (first, second)]
    assert workers.busy
    first.set()
    calls[0].result(10)
    assert workers.busy
    second.set()
    calls[1].result(10)
    workers.shutdown()
    assert not workers.busy


def test_a_call_that_waits_for_a_thread_counts() -> None:
    workers = Workers(1)
    release = threading.Event()
    held, waiting = workers.submit(release.wait), workers.submit(release.wait)
    assert not waiting.running()
    assert workers.busy
    release.set()
    held.result(10)
    waiting.result(10)


def test_a_call_that_fails_has_ended() -> None:
    workers = Workers(1)
    with pytest.raises(ZeroDivisionError):
        workers.submit(lambda: 1 / 0).result(10)
    workers.shutdown()
    assert not workers.busy


def test_a_pool_that_takes_no_more_is_not_busy_with_what_it_refused() -> None:
    workers = Workers(1)
    workers.shutdown()
    with pytest.raises(RuntimeError):
        workers.submit(print)
    assert not workers.busy
