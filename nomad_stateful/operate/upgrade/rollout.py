"""Client by client: Nomad replaces one node plugin at a time, and goes on when this says that it is healthy.

Nomad itself counts a plugin's task as healthy when it has run for 10 s, also where the driver does not answer. So the
job is registered with `health_check = "manual"`, and an allocation is called healthy when Nomad's CSI client has found
its plugin so. Where one fails, Nomad begins with the next before anybody can stop it: all get the version before.
Mounted volumes stay mounted while the EBS driver's node plugin restarts; nothing can be mounted or unmounted meanwhile.
https://developer.hashicorp.com/nomad/docs/job-specification/update (system jobs: 1.11)
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nomad_stateful.nomad import redeployment
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.paths import job_path, plugin_path
from nomad_stateful.nomad.plugin_versions import eligible_clients
from nomad_stateful.nomad.running_job import allocations
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.progress import context
from nomad_stateful.waiting import Pending, Progress

POLL_S = 0.5
REPORT_EVERY_S = 10.0
_MANUAL = "manual"


class NodeFailedError(OperateError):
    """The new version is not healthy on a client."""


@dataclass
class Rollout:
    """One plugin's node job on its way to another version; begun anew, it goes on."""

    api: NomadApi
    plugin_id: str
    job_id: str
    namespace: str
    node_timeout_s: float
    say: Callable[[str], None]
    poll_s: float = POLL_S
    done: dict[str, float] = field(default_factory=dict)
    """Seconds until the new version was healthy, by the client's name."""
    _called: set[str] = field(default_factory=set)
    """Allocations that were called healthy."""

    def before(self) -> dict[str, Any]:
        """Returns the newest version of the job that is no roll-out of this command. Raises NomadError."""
        listed = self.api.get(f"{job_path(self.job_id)}/versions", namespace=self.namespace)["Versions"]
        return next((dict(job) for job in listed if not _is_ours(job)), dict(listed[-1]))

    def register(self, job: Mapping[str, Any]) -> None:
        """Registers the new version, of which Nomad then places one at a time. Raises NomadError."""
        limit = int((self.node_timeout_s + 60) * 1e9)
        update = {
            "MaxParallel": 1,
            "HealthCheck": _MANUAL,
            "MinHealthyTime": int(1e9),
            "HealthyDeadline": limit,
            "ProgressDeadline": 2 * limit,
            "AutoRevert": False,
            "AutoPromote": False,
            "Canary": 0,
            "Stagger": int(1e9),
        }
        self._put(job, update)

    def _put(self, job: Mapping[str, Any], update: Mapping[str, Any]) -> None:
        groups = [{**group, "Update": update} for group in job["TaskGroups"]]
        body = {**job, "Namespace": self.namespace, "Update": update, "TaskGroups": groups, "VersionTag": None}
        self.api.put("jobs", {"Job": body}, namespace=self.namespace)

    def run(self) -> None:
        """Calls one client's plugin healthy after the other. Raises NodeFailedError, NomadError."""
        version = int(self._job()["Version"])
        progress, client, why = self._progress(), "", ""

        def look() -> bool | Pending:
            nonlocal client, why
            newest = self._newest()
            for one in newest:
                if int(one["JobVersion"]) == version and _has_failed(one):
                    raise NodeFailedError(f"{one['NodeName']}: {self._unhealthy(one)}")
            stub = self._next(newest, version)
            if stub is None and not self._lacks(newest):
                return True
            if stub is not None and stub["NodeName"] != client:
                client = str(stub["NodeName"])
                progress.restart()
                self.say(f"{client} gets the new version")
            why = self._unhealthy(stub) if stub else "Nomad has not replaced the next one"
            if not why and stub:
                self._call_healthy(stub)
                self.done[client] = progress.elapsed_s
                self.say(f"{client}: the new version is healthy after {self.done[client]:.1f} s")
                progress.restart()
            return Pending(f"waiting: {client or 'the first client'}: {why or 'healthy'}")

        if isinstance(progress.wait(look, self.poll_s), Pending):
            raise NodeFailedError(f"{client or 'no client'} after {progress.elapsed_s:.0f} s: {why}")

    def _progress(self) -> Progress:
        return Progress(context(self.say), self.node_timeout_s, REPORT_EVERY_S)

    def roll_back(self, before: Mapping[str, Any]) -> None:
        """Has every client run the version before, at once. Raises NodeFailedError, NomadError.

        Without a deployment: one would stand still, since where a client still had that version its allocation is
        updated in place, and is in no deployment that anybody could call healthy.
        """
        self._put(before, {"MaxParallel": 0})
        self._await_all()
        # As the stack's update registers it, which restarts nothing.
        self.api.put("jobs", {"Job": {**before, "VersionTag": None}}, namespace=self.namespace)

    def _await_all(self) -> None:
        lacks: list[str] = []

        def look() -> bool | Pending:
            nonlocal lacks
            lacks = self.lacks()
            return Pending(f"waiting: {'; '.join(lacks)}") if lacks else True

        progress = self._progress()
        if isinstance(progress.wait(look, self.poll_s), Pending):
            raise NodeFailedError(f"after {progress.elapsed_s:.0f} s: {'; '.join(lacks)}")

    def lacks(self) -> list[str]:
        """Returns the eligible clients whose plugin is not of the newest version of the job, or not healthy."""
        return self._lacks(self._newest())

    def _lacks(self, newest: Sequence[Mapping[str, Any]]) -> list[str]:
        version, known = int(self._job()["Version"]), self._nodes()
        found = []
        for one in newest:
            if int(one["JobVersion"]) < version:
                found.append(f"{one['NodeName']} has an older version")
            elif not _is_healthy(known.get(one["NodeID"]) or {}, one["ID"]):
                found.append(f"{one['NodeName']} is not healthy")
        return found

    def _newest(self) -> list[dict[str, Any]]:
        """Returns the newest allocation of each eligible client, by the clients' names."""
        eligible, found = eligible_clients(self.api), dict[str, dict[str, Any]]()
        stubs = allocations(self.api, self.job_id, self.namespace)
        for stub in sorted(stubs, key=lambda one: int(one["CreateIndex"])):
            if stub["NodeID"] in eligible:
                found[stub["NodeID"]] = stub
        return sorted(found.values(), key=lambda one: str(one["NodeName"]))

    def _next(self, newest: Sequence[Mapping[str, Any]], version: int) -> Mapping[str, Any] | None:
        """Returns the allocation of this version that has not been called healthy, the newest of them."""
        waiting = [
            one
            for one in newest
            if int(one["JobVersion"]) == version and one["ID"] not in self._called and not _is_called_healthy(one)
        ]
        return max(waiting, key=lambda one: int(one["CreateIndex"]), default=None)

    def _unhealthy(self, stub: Mapping[str, Any]) -> str:
        info = self._nodes().get(str(stub["NodeID"])) or {}
        if _is_healthy(info, str(stub["ID"])):
            return ""
        events = [
            str(event.get("DisplayMessage") or event.get("Type") or "")
            for state in (stub.get("TaskStates") or {}).values()
            for event in state.get("Events") or []
        ]
        return f"its node plugin is {stub['ClientStatus']}, not healthy ({'; '.join(events[-2:]) or 'no event yet'})"

    def _call_healthy(self, stub: Mapping[str, Any]) -> None:
        self._called.add(str(stub["ID"]))
        deployment = self.api.get(f"allocation/{stub['ID']}", namespace=self.namespace).get("DeploymentID")
        if deployment:
            body = {"DeploymentID": deployment, "HealthyAllocationIDs": [stub["ID"]]}
            self.api.put(f"deployment/allocation-health/{deployment}", body, namespace=self.namespace)
        else:
            # Where an earlier deployment failed there may be none, and only an evaluation brings the next client.
            redeployment.evaluate(self.api, self.namespace, self.job_id)

    def _job(self) -> dict[str, Any]:
        return dict(self.api.get(job_path(self.job_id), namespace=self.namespace))

    def _nodes(self) -> Mapping[str, Mapping[str, Any]]:
        return (self.api.find(plugin_path(self.plugin_id)) or {}).get("Nodes") or {}


def _is_ours(job: Mapping[str, Any]) -> bool:
    updates = [group.get("Update") or {} for group in job.get("TaskGroups") or []]
    return any(update.get("HealthCheck") == _MANUAL or update.get("MaxParallel") == 0 for update in updates)


def _is_called_healthy(stub: Mapping[str, Any]) -> bool:
    return (stub.get("DeploymentStatus") or {}).get("Healthy") is True


def _has_failed(stub: Mapping[str, Any]) -> bool:
    return stub["ClientStatus"] == "failed" or (stub.get("DeploymentStatus") or {}).get("Healthy") is False


def _is_healthy(info: Mapping[str, Any], alloc_id: str) -> bool:
    return bool(info.get("Healthy") and info.get("AllocID") == alloc_id)
