"""Waits on Nomad's blocking queries, within a limit."""

import functools
from collections.abc import Iterator
from typing import Any

from nomad_stateful.nomad.api import NomadApi, NomadError, is_transient
from nomad_stateful.waiting import Backoff, Progress, Stopwatch

QUERY_WAIT_S = 5.0
# Between two answers, so that a busy cluster is not queried in a tight loop.
MIN_INTERVAL_S = 0.05


def watch(progress: Progress, api: NomadApi, path: str, **params: Any) -> Iterator[Any | None]:
    """Yields what is at a path (None: nothing) now, at every change, and at least every few seconds within the limit.

    Who iterates reports what it waits for. A server that goes away for a while is waited for; one that never answered
    is an error once the client's retry limit is over.
    """
    ctx, took = progress.ctx, Stopwatch()
    index = 0
    answered = False
    failed = False
    backoff = Backoff()
    while True:
        left = progress.left_s
        query = functools.partial(
            api.get_indexed, path, index=index, wait_s=min(QUERY_WAIT_S, max(0.001, left)), **params
        )
        try:
            body, index = ctx.call(query)
        except NomadError as error:
            given_up = left <= 0 or (not answered and took.seconds >= api.retry.limit_s)
            if given_up or not is_transient(error):
                raise
            if not failed:
                ctx.log("warning", f"{error}; asking again until the deadline")
            failed = True
            ctx.wait(min(backoff.next(), left))
            continue
        answered, failed = True, False
        backoff.reset()
        yield body
        if progress.left_s <= 0:
            return
        ctx.wait(MIN_INTERVAL_S)
