"""A Nomad HTTP API made of canned answers, with blocking queries, for tests of what is built on it."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.providers.nomad_server import Reply, Request, serving


class FakeNomad:
    """Answers by path; `put` changes one and wakes queries that wait for it. Unset paths are 404; it has no clients."""

    def __init__(self, address: str = "") -> None:
        self.address = address
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self._answers: dict[str, Any] = {"nodes": []}
        self._refusals: dict[str, tuple[int, str]] = {}
        self._refusals_left: dict[str, int] = {}
        self._indexes: dict[str, int] = {}
        self._index = 1
        self._changed = threading.Condition()

    def put(self, path: str, body: Any) -> None:
        """Sets the answer at a path (relative to /v1/); None removes it."""
        with self._changed:
            self._index += 1
            self._indexes[path] = self._index
            self._refusals.pop(path, None)
            if body is None:
                self._answers.pop(path, None)
            else:
                self._answers[path] = body
            self._changed.notify_all()

    def refuse(self, path: str, status: int, text: str, times: int = 0) -> None:
        """Makes a path answer with an error, so many times or until it is `put`."""
        with self._changed:
            self._refusals[path] = (status, text)
            self._refusals_left[path] = times
            self._changed.notify_all()

    def requested(self, method: str) -> list[str]:
        """Paths asked for by a method, in order."""
        with self._changed:
            return [path for asked, path, _ in self.requests if asked == method]

    def wait_for_request(self, path: str, timeout_s: float = 10) -> None:
        """Returns once the path has been asked for."""
        with self._changed:
            assert self._changed.wait_for(lambda: any(asked == path for _, asked, _ in self.requests), timeout_s)

    def answer(self, method: str, path: str, query: dict[str, str]) -> tuple[int, str, int]:
        """Status, text and index; waits as a blocking query does."""
        with self._changed:
            self.requests.append((method, path, query))
            self._changed.notify_all()
            newer_than = int(query.get("index", "0"))
            if newer_than:
                wait_s = float(query.get("wait", "300000ms").removesuffix("ms")) / 1000
                deadline = time.monotonic() + wait_s
                self._changed.wait_for(
                    lambda: self._indexes.get(path, 1) > newer_than or path in self._refusals,
                    max(0.0, deadline - time.monotonic()),
                )
            index = self._indexes.get(path, 1)
            if path in self._refusals:
                refusal = self._refusals[path]
                self._refusals_left[path] -= 1
                if self._refusals_left[path] == 0:
                    del self._refusals[path]
                return *refusal, index
            if method == "DELETE":
                return 200, "{}", index
            if path not in self._answers:
                return 404, "not found", index
            return 200, json.dumps(self._answers[path]), index


@contextlib.contextmanager
def fake_nomad() -> Iterator[FakeNomad]:
    """Serves a FakeNomad on a free port of this machine."""
    fake = FakeNomad()

    def reply_to(request: Request) -> Reply:
        url = urlsplit(request.path)
        return Reply(*fake.answer(request.method, url.path.removeprefix("/v1/"), dict(parse_qsl(url.query))))

    with serving(reply_to) as fake.address:
        yield fake
