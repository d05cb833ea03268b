"""A Nomad that remembers what it is told: variables, namespaces, jobs and CSI volumes, over its HTTP API."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

from tests.providers.nomad_server import Reply, Request, serving

Answer = tuple[int, Any]
_SUFFIXES = ("/create", "/delete")


class MemoryNomad:
    """Records by path below /v1/ ("var/a", "namespace/b", "job/c", "volume/csi/d"); anything else is 404."""

    def __init__(self) -> None:
        self.address = ""
        self.records: dict[str, Any] = {}
        self.writes: list[str] = []
        self._index = 10

    def reset(self) -> None:
        """Forgets everything."""
        self.records.clear()
        self.writes.clear()

    def answer(self, method: str, path: str, body: Any) -> Answer:
        """Status and body for a request."""
        if method == "GET":
            found = self.records.get(path)
            return (404, "not found") if found is None else (200, found)
        if path.endswith("/plan"):
            job = self.records.get(path.removesuffix("/plan"))
            return 200, {"JobModifyIndex": job["JobModifyIndex"] if job else 0}
        self.writes.append(f"{method} {path}")
        return self._remove(path) if method == "DELETE" else self._write(path, body)

    def _write(self, path: str, body: Any) -> Answer:
        self._index += 1
        kind = path.partition("/")[0]
        if kind == "jobs":
            job = body["Job"] | {"Status": "running", "Version": 0, "Stop": False, "SubmitTime": 1}
            self.records[f"job/{job['ID']}"] = job | {"JobModifyIndex": self._index, "CreateIndex": self._index}
            return 200, {"EvalID": "", "JobModifyIndex": self._index}
        if kind == "volume":
            return self._write_volume(_volume_path(path), body["Volumes"][0])
        self.records[path] = body
        return 200, body

    def _write_volume(self, path: str, volume: dict[str, Any]) -> Answer:
        capacity = volume.get("RequestedCapacityMin") or 0
        health = dict.fromkeys(("ControllersExpected", "ControllersHealthy", "NodesExpected", "NodesHealthy"), 1)
        added = {"Capacity": capacity, "ExternalID": f"storage-{volume['ID']}", "Schedulable": True, "Provider": "p"}
        topologies = (volume.get("RequestedTopologies") or {}).get("Required")
        # As Nomad does, the API keeps mount options and secrets to itself.
        hidden = {"Secrets": None, "MountOptions": None, "Topologies": topologies}
        self.records[path] = added | {"Namespace": "default"} | health | volume | hidden
        return 200, {"Volumes": [self.records[path]]}

    def _remove(self, path: str) -> Answer:
        known = self.records.pop(_volume_path(path), None)
        if known is None and path.startswith(("volume/", "namespace/")):
            return (500 if path.startswith("volume/") else 404), "volume not found"
        return 200, {"EvalID": "", "JobModifyIndex": self._index}


def _volume_path(path: str) -> str:
    for suffix in _SUFFIXES:
        path = path.removesuffix(suffix) if path.startswith("volume/") else path
    return path


@contextlib.contextmanager
def memory_nomad() -> Iterator[MemoryNomad]:
    """Serves a MemoryNomad on a free port of this machine."""
    nomad = MemoryNomad()

    def reply_to(request: Request) -> Reply:
        path = unquote(urlsplit(request.path).path.removeprefix("/v1/"))
        return Reply(*nomad.answer(request.method, path, request.document), index=10)

    with serving(reply_to) as nomad.address:
        yield nomad
