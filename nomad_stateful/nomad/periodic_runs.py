"""Runs of a periodic job that have failed, and those that have succeeded."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.running_job import allocations, has_succeeded, newest

Json = dict[str, Any]


@dataclass(frozen=True)
class FailingRun:
    """A run whose newest allocation failed, or that failed for good."""

    job_id: str
    namespace: str
    failures: int
    since: str
    """When it was launched, as 2026-01-01T03:00:00Z."""
    allocation_id: str
    task: str
    """The task that failed in it; empty where none was started."""
    reason: str
    """How that task ended, such as Exit Code: 1."""
    again: bool
    """Whether Nomad retries it."""


def failing_runs(api: NomadApi, job_id: str, namespace: str) -> list[FailingRun]:
    """Returns the runs of a periodic job that failed and have not succeeded since, if Nomad still has them.

    One that was launched before another succeeded is no news: its work is done, though Nomad has it for hours.
    """
    stubs = _runs(api, job_id, namespace)
    done = _newest_success(api, stubs, namespace) or 0.0
    runs = [_failing(api, stub, namespace) for stub in stubs if _count(stub, "Failed") and _launched(stub) >= done]
    return sorted((run for run in runs if run is not None), key=lambda run: run.since)


def newest_success(api: NomadApi, job_id: str, namespace: str) -> float | None:
    """Returns when the newest run that succeeded was launched, in seconds of the epoch; None where Nomad has none.

    Nomad forgets runs that have ended after `job_gc_threshold`, 4 hours by default.
    """
    return _newest_success(api, _runs(api, job_id, namespace), namespace)


def outcomes(api: NomadApi, job_id: str, namespace: str) -> dict[str, bool]:
    """Returns whether each run succeeded, the newest first, by the ids of those that Nomad has."""
    stubs = sorted(_runs(api, job_id, namespace), key=_launched, reverse=True)
    done = {stub["ID"] for stub in _successes(api, stubs, namespace)}
    return {str(stub["ID"]): stub["ID"] in done for stub in stubs}


def _runs(api: NomadApi, job_id: str, namespace: str) -> list[Json]:
    stubs = api.get("jobs", prefix=f"{job_id}/", namespace=namespace) or []
    return [stub for stub in stubs if stub.get("ParentID") == job_id]


def _launched(stub: Json) -> float:
    """Returns seconds of the epoch."""
    return int(stub.get("SubmitTime") or 0) / 1e9


def _newest_success(api: NomadApi, stubs: Iterable[Json], namespace: str) -> float | None:
    return next(map(_launched, _successes(api, stubs, namespace)), None)


def _successes(api: NomadApi, stubs: Iterable[Json], namespace: str) -> Iterator[Json]:
    """Yields the newest first; asks for the allocations of those runs alone that may have succeeded."""
    complete = (stub for stub in sorted(stubs, key=_launched, reverse=True) if _count(stub, "Complete"))
    return (stub for stub in complete if _has_succeeded(stub, allocations(api, stub["ID"], namespace)))


def _count(stub: Json, status: str) -> int:
    """Returns how many allocations of a run have ended so, those too that Nomad has collected."""
    groups = ((stub.get("JobSummary") or {}).get("Summary") or {}).values()
    return sum(group.get(status) or 0 for group in groups)


def _has_succeeded(stub: Json, found: Iterable[Json]) -> bool:
    """Returns whether an allocation of a run has. Of one that Nomad has collected the run's summary alone tells."""
    complete = [one for one in found if one["ClientStatus"] == "complete"]
    return any(map(has_succeeded, complete)) or _count(stub, "Complete") > len(complete)


def _failing(api: NomadApi, stub: Json, namespace: str) -> FailingRun | None:
    found = allocations(api, stub["ID"], namespace)
    failed = [one for one in found if one["ClientStatus"] == "failed"]
    last = newest(failed)
    if last is None or _has_succeeded(stub, found):
        return None
    task, reason = _failed_task(last)
    launched = datetime.fromtimestamp(_launched(stub), UTC)
    return FailingRun(
        job_id=stub["ID"],
        namespace=namespace,
        failures=len(failed),
        since=f"{launched:%Y-%m-%dT%H:%M:%SZ}",
        allocation_id=last["ID"],
        task=task,
        reason=reason,
        again=stub["Status"] != "dead",
    )


def _failed_task(allocation: Json) -> tuple[str, str]:
    """Returns the task that failed, and how it ended last."""
    states = (allocation.get("TaskStates") or {}).items()
    # One that ended well before the other failed says nothing.
    for name, state in sorted(states, key=lambda item: not item[1].get("Failed")):
        ended = [event for event in state.get("Events") or [] if event.get("Type") in ("Terminated", "Driver Failure")]
        if ended:
            return name, str(ended[-1].get("DisplayMessage") or ended[-1]["Type"])
    return "", "it could not be started"
