"""A Nomad that has what a test puts there and remembers what it is told, over its HTTP API."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.waiting import RetryPolicy
from tests.fake_nomad import actions, jobs, lists, variables, volumes
from tests.fake_nomad.answers import Answer, Asked, Records, record_key
from tests.fake_nomad.server import Reply, Request, serving

MISSING = {
    "var": "variable not found",
    "job": "job not found",
    "volume": "volume not found",
    "plugin": "plugin not found",
    "evaluation": "eval not found",
    "deployment": "deployment not found",
    "allocation": "alloc not found",
    "node": "node not found",
    "namespace": "Namespace not found",
}
_SAID_BY_ITSELF: dict[str, Answer] = {
    "status/leader": (200, '"127.0.0.1:4647"'),
    "acl/token/self": (400, "ACL support disabled"),
    "var/": (400, "missing variable path"),
}
_BY_ID = ("allocation/", "evaluation/", "deployment/", "node/", "plugin/", "namespace/")
"""What is found in whatever namespace it is."""


class FakeNomad:
    """Records by path below /v1/ ("node/a", "job/b", "volume/csi/c", "allocation/d"), of which its lists are made.

    What it was not told of is a 404, as Nomad has it; a request that is none of Nomad's, or of which only a test can
    say the answer (an agent's own state, a file), is a failure of the test that names it.
    """

    def __init__(self) -> None:
        self.address = ""
        self.records: Records = {}
        self.requests: list[Asked] = []
        self.unknown: list[str] = []
        """Requests that it has no answer for."""
        self.after: dict[str, Callable[[Asked], None]] = {}
        """What happens by itself once a request ("GET job/a") was answered."""
        self._refusals: dict[tuple[str, str], list[Answer]] = {}
        self._index = 10
        self._changed = threading.Condition(threading.RLock())
        self._clients: list[NomadApi] = []
        self.reset()

    def reset(self) -> None:
        """Forgets everything."""
        self.records.clear()
        self.requests.clear()
        self.records["namespace/default"] = {"Name": "default"}

    def put(self, path: str, body: Any, namespace: str = "") -> None:
        """Has a record: a document, or what computes it at each request; None is none, of a list too.

        A list that is put stands for the one that the records make. An id and an index need not be said.
        """
        path = unquote(path)
        with self._changed:
            self._index += 1
            if isinstance(body, dict):
                namespace = namespace or body.get("Namespace", "")
                body = self._identity(path, namespace) | body
            is_everywhere = lists.kind(path) or path.startswith(_BY_ID)
            key = path if is_everywhere else record_key(path, namespace or "default")
            for one in [one for one in self._refusals if one[1] == path]:
                del self._refusals[one]
            if body is None and not lists.kind(path):
                self.records.pop(key, None)
            else:
                self.records[key] = body
            self._changed.notify_all()

    def change(self, path: str, **fields: Any) -> None:
        """Changes a record, in the one namespace that has it; its indexes follow."""
        [record] = [one for key, one in self.records.items() if key.partition("@")[0] == path]
        indexes = ("ModifyIndex", "JobModifyIndex")
        self.put(path, {name: value for name, value in record.items() if name not in indexes} | fields)

    def refuse(self, path: str, status: int, text: str, times: int = 0, method: str = "") -> None:
        """Makes a path answer with an error, so many times or until it is `put`."""
        with self._changed:
            self._refusals[method, unquote(path)] = [(status, text)] * times or [(status, text), (0, "for ever")]
            self._changed.notify_all()

    def requested(self, method: str) -> list[str]:
        """Paths asked for by a method, in order."""
        with self._changed:
            return [asked.path for asked in self.requests if asked.method == method]

    def sent(self, path: str, method: str = "PUT") -> list[Any]:
        """What was sent to a path."""
        with self._changed:
            return [asked.body for asked in self.requests if (asked.method, asked.path) == (method, path)]

    @property
    def writes(self) -> list[str]:
        """What was to change something, in order: "PUT job/a/evaluate"."""
        asks = ("jobs/parse", "/plan")
        with self._changed:
            sent = [one for one in self.requests if one.method != "GET" and not one.path.endswith(asks)]
            return [f"{asked.method} {asked.path}" for asked in sent]

    def wait_for_request(self, path: str, timeout_s: float = 10) -> None:
        """Returns once the path has been asked for."""
        with self._changed:
            assert self._changed.wait_for(lambda: any(one.path == path for one in self.requests), timeout_s)

    @property
    def api(self) -> NomadApi:
        """The project's client of it, which retries nothing."""
        if not self._clients:
            self.client(RetryPolicy())
        return self._clients[0]

    def client(self, retry: RetryPolicy) -> NomadApi:
        """Returns another client of it."""
        self._clients.append(NomadApi(self.address, retry=retry))
        return self._clients[-1]

    def close(self) -> None:
        """Closes the clients; fails where something was asked that it does not know."""
        for client in self._clients:
            client.close()
        assert not self.unknown, f"the fake Nomad has no answer for {', '.join(sorted(set(self.unknown)))}"

    def answer(self, asked: Asked) -> tuple[int, str, int]:
        """Status, text and index; waits as a blocking query does."""
        with self._changed:
            self.requests.append(asked)
            self._changed.notify_all()
            newer_than = int(asked.query.get("index", "0"))
            if newer_than and asked.method == "GET":
                wait_s = float(asked.query.get("wait", "300000ms").removesuffix("ms")) / 1000
                deadline = time.monotonic() + wait_s
                self._changed.wait_for(
                    lambda: self._index > newer_than or self._refusal(asked, keep=True) is not None,
                    max(0.0, deadline - time.monotonic()),
                )
            try:
                status, body = self._refusal(asked) or self._answer(asked)
                text = body if isinstance(body, str) else json.dumps(body)
                if happens := self.after.get(f"{asked.method} {asked.path}"):
                    happens(asked)
            except Exception as error:
                status, text = self._is_unknown(asked, f": {error!r}")
            index = self._index
            if asked.method != "GET":
                self._changed.notify_all()
            return status, text, index

    def _refusal(self, asked: Asked, *, keep: bool = False) -> Answer | None:
        for method in (asked.method, ""):
            left = self._refusals.get((method, asked.path))
            if left:
                if not keep and left[-1][0]:
                    self._refusals[method, asked.path] = left[1:]
                return left[0]
        return None

    def _answer(self, asked: Asked) -> Answer:
        if asked.method == "GET":
            return self._read(asked)
        said = self.records.get(asked.key())
        if asked.path == "jobs/parse":
            return jobs.parse(asked) if said is None else (200, said)
        if asked.path.endswith("/plan"):
            said = self.records.get(asked.key())
            return jobs.plan(self.records, asked) if said is None else (200, said)
        self._index += 1
        found = self._write(asked)
        return self._is_unknown(asked) if found is None else found

    def _write(self, asked: Asked) -> Answer | None:
        acted = actions.act(self.records, asked)
        if acted is not None:
            return acted
        kind = asked.path.partition("/")[0]
        if asked.path == "jobs" or (kind == "job" and asked.method == "DELETE"):
            return jobs.write(self.records, asked, self._index)
        if kind == "volume":
            return volumes.write(self.records, asked)
        if kind == "var":
            return variables.write(self.records, asked, self._index)
        if kind == "namespace" and asked.method == "DELETE":
            self.records.pop(asked.path, None)
            return 200, ""
        return None

    def _read(self, asked: Asked) -> Answer:
        if lists.kind(asked.path):
            stands = self._value(self.records.get(asked.path, ()))
            if stands is None:
                return 404, "not found"
            return 200, lists.listed(self.records, asked, self._value, stands)
        key = asked.path if asked.path.startswith(_BY_ID) else asked.key()
        found = self._value(self.records.get(key))
        if found is None:
            return self._derived(asked)
        return 200, volumes.shown(found) if asked.path.startswith("volume/") else found

    def _derived(self, asked: Asked) -> Answer:
        """What is said of a record, or without one."""
        if asked.path in _SAID_BY_ITSELF:
            return _SAID_BY_ITSELF[asked.path]
        of, _, what = asked.path.rpartition("/")
        if asked.path.startswith("job/") and what == "submission":
            return jobs.submission(self.records, asked)
        if asked.path.startswith("job/") and what == "deployment":
            return 200, None
        if asked.path.startswith("job/") and what == "versions":
            job = self._value(self.records.get(asked.key(of)))
            return (200, {"Versions": [job]}) if job else (404, "job versions not found")
        if asked.path.startswith(("deployment/allocations/", "service/")):
            return 200, []
        if asked.path.startswith("client/allocation/") and what == "checks":
            return 200, {}
        return self._is_missing(asked)

    def _is_missing(self, asked: Asked) -> Answer:
        kind = asked.path.partition("/")[0]
        return (404, MISSING[kind]) if kind in MISSING else self._is_unknown(asked)

    def _is_unknown(self, asked: Asked, why: str = "") -> Answer:
        self.unknown.append(f"{asked.method} {asked.path}{why}")
        return 501, f"the fake Nomad has no answer for {self.unknown[-1]}"

    def _identity(self, path: str, namespace: str) -> dict[str, Any]:
        kind, _, name = path.partition("/")
        if kind == "var":
            return {"Path": name, "Namespace": namespace or "default", "ModifyIndex": self._index}
        if kind not in MISSING or path.rpartition("/")[2] in lists.OF_A_RECORD:
            return {}
        identity: dict[str, Any] = {"ID": name.removeprefix("csi/")}
        if kind in ("job", "volume", "allocation", "evaluation"):
            identity["Namespace"] = namespace or "default"
        indexes = ("CreateIndex", "ModifyIndex", "JobModifyIndex") if kind == "job" else ()
        return identity | dict.fromkeys(indexes, self._index)

    @staticmethod
    def _value(record: Any) -> Any:
        return record() if callable(record) else record


def question(request: Request) -> Asked:
    """Returns a request as Nomad reads it."""
    url = urlsplit(request.path)
    query = {name: values[-1] for name, values in parse_qs(url.query, keep_blank_values=True).items()}
    body = request.document
    namespace = (body.get("Namespace") if isinstance(body, dict) else "") or query.get("namespace") or "default"
    path = unquote(url.path.removeprefix("/v1/"))
    return Asked(request.method, path, query, body, namespace, request.headers)


@contextlib.contextmanager
def fake_nomad() -> Iterator[FakeNomad]:
    """Serves a FakeNomad on a free port of this machine."""
    nomad = FakeNomad()
    with serving(lambda request: Reply(*nomad.answer(question(request)))) as nomad.address:
        yield nomad
    nomad.close()
