"""A Nomad that remembers what it is told: variables, jobs and CSI volumes, over its HTTP API."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.providers.conformance import memory_jobs, memory_volumes
from tests.providers.conformance.memory_answers import Answer, Asked, Records
from tests.providers.nomad_server import Reply, Request, serving

_MISSING = {
    "var": "variable not found",
    "job": "job not found",
    "volume": "volume not found",
    "plugin": "plugin not found",
    "evaluation": "eval not found",
    "deployment": "deployment not found",
}
_LISTS = ("plugins", "volumes")


class MemoryNomad:
    """Records by path below /v1/ ("var/a", "job/c", "volume/csi/d@namespace")."""

    def __init__(self) -> None:
        self.address = ""
        self.records: Records = {}
        self.reads: list[str] = []
        self.writes: list[str] = []
        self._index = 10
        self.reset()

    def reset(self) -> None:
        """Forgets everything."""
        self.records.clear()
        self.reads.clear()
        self.writes.clear()
        self.records["namespace/default"] = {"Name": "default"}

    def answer(self, method: str, path: str, query: dict[str, str], body: Any) -> Answer:
        """Status and body for a request."""
        kind = path.partition("/")[0]
        namespace = (body or {}).get("Namespace") or query.get("namespace") or "default"
        asked = Asked(method, path, query, body, namespace)
        if method == "GET":
            self.reads.append(path)
            return self._read(asked)
        self._index += 1
        if path == "jobs/parse":
            return memory_jobs.parse(asked)
        if path.endswith("/plan"):
            return memory_jobs.plan(self.records, asked)
        self.writes.append(f"{method} {path}")
        if kind in {"jobs", "job"}:
            return memory_jobs.write(self.records, asked, self._index)
        if kind == "volume":
            return memory_volumes.write(self.records, asked)
        return self._write_variable(asked)

    def _read(self, asked: Asked) -> Answer:
        found = self.records.get(asked.key())
        if found is not None:
            return 200, memory_volumes.shown(found) if asked.path.startswith("volume/") else found
        if asked.path == "jobs":
            return 200, memory_jobs.listed(self.records, asked.namespace)
        if asked.path in _LISTS or asked.path.endswith("/allocations") or asked.path.startswith("deployment/alloc"):
            return 200, []
        kind, _, rest = asked.path.partition("/")
        if asked.path == "var/":
            return 400, "missing variable path"
        if rest.endswith("/submission"):
            return memory_jobs.submission(self.records, asked)
        return 404, _MISSING.get(kind, "")

    def _write_variable(self, asked: Asked) -> Answer:
        path = asked.path.removeprefix("var/")
        before = self.records.get(asked.key())
        if "cas" in asked.query and int(asked.query["cas"]) != (before or {"ModifyIndex": 0})["ModifyIndex"]:
            return 409, before or {"Path": path, "Namespace": asked.namespace, "ModifyIndex": 0}
        if asked.method == "DELETE":
            self.records.pop(asked.key(), None)
            return 204, ""
        if not asked.body.get("Items"):
            return 400, "variable missing required Items object"
        found = {"Path": path, "Namespace": asked.namespace, "Items": asked.body["Items"]}
        found["ModifyIndex"] = self._index
        self.records[asked.key()] = found
        return 200, found


@contextlib.contextmanager
def memory_nomad() -> Iterator[MemoryNomad]:
    """Serves a MemoryNomad on a free port of this machine."""
    nomad = MemoryNomad()

    def reply_to(request: Request) -> Reply:
        url = urlsplit(request.path)
        query = {name: values[-1] for name, values in parse_qs(url.query).items()}
        path = unquote(url.path.removeprefix("/v1/"))
        return Reply(*nomad.answer(request.method, path, query, request.document), index=10)

    with serving(reply_to) as nomad.address:
        yield nomad
