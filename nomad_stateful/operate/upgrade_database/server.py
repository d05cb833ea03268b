"""The server: what it says of itself, its job in Nomad, and how long it is away."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from nomad_stateful.databases.model import Database as Kind
from nomad_stateful.databases.operations import operations
from nomad_stateful.databases.upgrades import Upgrades, Version
from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad import running_job
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.paths import job_path
from nomad_stateful.nomad.running_job import Endpoint, allocations, last_events, newest
from nomad_stateful.operate.cluster import Cluster, connect
from nomad_stateful.operate.database import Database
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.waiting import Stopwatch, repeat

_PING_S = 0.2
_NEVER = "0001-"


@dataclass(frozen=True)
class Server:
    """The stack's server, wherever it runs."""

    kind: Kind
    nomad: NomadApi
    database: Database
    job_id: str
    namespace: str

    @property
    def upgrades(self) -> Upgrades:
        """How it is upgraded."""
        return operations(self.kind.name).upgrades

    def endpoint(self) -> Endpoint | None:
        """Returns where it runs now, None if nowhere. Raises NomadError."""
        return running_job.endpoint(self.nomad, self.job_id, self.namespace, self.kind.name, "db")

    def version(self) -> Version | None:
        """Returns its version, None while it does not answer. Raises NomadError, UpgradeRefusedError."""
        at = self.endpoint()
        try:
            if at is None:
                return None
            return self.upgrades.of_server(str(self.database.ask(at, self.upgrades.version)[0][0]))
        except self.database.errors:
            return None

    def tables(self) -> frozenset[str]:
        """Returns the names of the tables that are not the server's own."""
        return frozenset(self.names(self.upgrades.tables))

    def dictionary(self) -> str:
        """Returns what the server says of its upgrade, "" if nothing."""
        statement = self.upgrades.upgraded
        return next(iter(self.names(statement)), "") if statement else ""

    def names(self, statement: str) -> list[str]:
        """Returns the first column of a statement's rows. Raises OperateError."""
        at = self.endpoint()
        if at is None:
            raise OperateError(f"job {self.job_id} does not run: `nomad-stateful explain {self.job_id}`")
        try:
            return [str(row[0]) for row in self.database.ask(at, statement)]
        except self.database.errors as error:
            raise OperateError(f"{self.kind.title} at {at.host}:{at.port} does not answer: {error}") from error

    def image(self) -> str:
        """Returns the server's image in the job's newest version. Raises OperateError, NomadError."""
        job = self.nomad.find(job_path(self.job_id), namespace=self.namespace)
        if job is None or task_of(job, self.kind.name) is None:
            raise OperateError(f"job {self.job_id} is not registered in namespace {self.namespace}: run `pulumi up`")
        return self._image(job)

    def has_started(self, image: str) -> bool | None:
        """Returns whether the server ever started from this image; None where Nomad has no allocation of it to say."""
        versions = {int(one["Version"]) for one in self._versions() if self._image(one) == image}
        # Of the job before a purge too, whose versions were others.
        found = allocations(self.nomad, self.job_id, self.namespace)
        states = [self._state(one) for one in found if int(one["JobVersion"]) in versions]
        return any(_started(state) for state in states) if states else None

    def runs(self) -> bool:
        """Returns whether the newest allocation's server runs and has not ended before."""
        states = [self._state(one) for one in self._newest()]
        return any(state.get("State") == "running" and not state.get("Restarts") for state in states)

    def events(self) -> str:
        """Returns what Nomad says last of the newest allocation."""
        return "; ".join(line for one in self._newest() for line in last_events(one)) or "no allocation"

    def stop(self, timeout_s: float) -> None:
        """Stops the job; once it returns, no server of it can start any more. Raises TimedOutError, NomadError."""
        Cluster(self.nomad, self.job_id, self.namespace, self.kind.name, "db").stop(timeout_s)

    def revert(self, image: str) -> None:
        """Has Nomad run the newest version with this image again. Raises OperateError, NomadError."""
        before = [int(one["Version"]) for one in self._versions() if self._image(one) == image]
        if not before:
            raise OperateError(f"Nomad has no version of job {self.job_id} with image {image}")
        body = {"JobID": self.job_id, "JobVersion": max(before)}
        self.nomad.put(f"{job_path(self.job_id)}/revert", body, namespace=self.namespace)

    def _versions(self) -> list[dict[str, Any]]:
        return list(self.nomad.get(f"{job_path(self.job_id)}/versions", namespace=self.namespace)["Versions"])

    def _newest(self) -> list[dict[str, Any]]:
        one = newest(allocations(self.nomad, self.job_id, self.namespace))
        return [] if one is None else [one]

    def _image(self, job: Mapping[str, Any]) -> str:
        return str(((task_of(job, self.kind.name) or {}).get("Config") or {}).get("image") or "")

    def _state(self, stub: Mapping[str, Any]) -> Mapping[str, Any]:
        return (stub.get("TaskStates") or {}).get(self.kind.name) or {}


def task_of(job: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """Returns the server's task of a job."""
    tasks = [task for group in job.get("TaskGroups") or [] for task in group.get("Tasks") or []]
    return next((dict(task) for task in tasks if task["Name"] == name), None)


def _started(state: Mapping[str, Any]) -> bool:
    at = str(state.get("StartedAt") or "")
    return bool(at) and not at.startswith(_NEVER)


class Absence:
    """Asks the server all the time, until it has the version that is waited for."""

    def __init__(self, server: Server, after: Version) -> None:
        self._server = server
        self._after = after
        self._ending = threading.Event()
        self._answered = Stopwatch()
        self.back: Stopwatch | None = None
        """Since the new version answered first; None if it has not."""
        self.away_s = 0.0
        """The longest time without an answer."""

    @contextmanager
    def watched(self) -> Iterator[None]:
        """While this lasts, it asks."""
        self._answered.restart()
        thread = threading.Thread(target=self._work, name="the server's absence", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ending.set()
            thread.join()

    def _work(self) -> None:
        own = replace(self._server, nomad=connect())
        try:
            repeat(lambda: self._ask(own), self._ending, _PING_S)
        finally:
            own.nomad.close()

    def _ask(self, own: Server) -> float | None:
        try:
            found = own.version()
        except (OperateError, ProviderError):
            found = None
        if found is None:
            return _PING_S
        self.away_s = max(self.away_s, self._answered.seconds)
        self._answered.restart()
        if found != self._after:
            return _PING_S
        self.back = Stopwatch()
        return None
