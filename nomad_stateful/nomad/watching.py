"""Waits on Nomad's blocking queries, with a deadline."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator
from typing import Any

from nomad_stateful.nomad.api import NomadApi, NomadError, is_transient
from nomad_stateful.waiting import Backoff, Context

QUERY_WAIT_S = 5.0
# Between two answers, so that a busy cluster is not queried in a tight loop.
MIN_INTERVAL_S = 0.05


def watch(ctx: Context, api: NomadApi, path: str, deadline: float, **params: Any) -> Iterator[Any | None]:
    """Yields what is at a path (None: nothing) now, at every change, and at least every few seconds until the deadline.

    `deadline` is on time.monotonic()'s clock; after it the iteration ends. A server that goes away for a while is
    waited for; one that never answered is an error once the client's retry limit is over.
    """
    index = 0
    answered = False
    failed = False
    backoff = Backoff()
    gives_up_at = time.monotonic() + api.retry.limit_s
    while True:
        left = deadline - time.monotonic()
        query = functools.partial(
            api.get_indexed, path, index=index, wait_s=min(QUERY_WAIT_S, max(0.001, left)), **params
        )
        try:
            body, index = ctx.call(query)
        except NomadError as error:
            given_up = left <= 0 or (not answered and time.monotonic() >= gives_up_at)
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
        if time.monotonic() >= deadline:
            return
        ctx.wait(MIN_INTERVAL_S)
