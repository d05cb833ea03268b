"""Why a job does not run: its allocations, its evaluations, and the volumes that it asks for."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from nomad_stateful.nomad.consumer_job import volume_ids
from nomad_stateful.nomad.running_job import ENDED, is_running, is_unhealthy
from nomad_stateful.operate.doctor.facts import Json
from nomad_stateful.operate.explain import events, scheduler, volumes
from nomad_stateful.operate.explain.reason import RUNBOOK, Reason, Scene

_RESCHEDULE = "https://developer.hashicorp.com/nomad/docs/job-specification/reschedule"
_PANIC = f"{RUNBOOK}#nomads-servers-panic"
_WAITING_S = 10.0


def reasons(scene: Scene, job_id: str) -> list[Reason]:
    """Returns why a job is pending or stuck, the nearest reason first; empty where it runs as it should."""
    job = scene.job(job_id)
    if job is None:
        what = f"Nomad has no job {job_id} in namespace {scene.namespace}"
        why = "it was purged by hand, or never deployed"
        return [Reason(what, why, "pulumi up --refresh", RUNBOOK)]
    if job.get("Stop"):
        return [
            Reason(
                f"job {job_id} is stopped",
                "somebody stopped it; nothing starts it automatically",
                "pulumi up --refresh",
                RUNBOOK,
            )
        ]
    if job.get("Periodic") or job.get("ParameterizedJob"):
        return []
    current = [one for one in scene.of_job(job_id, "allocations") if one["DesiredStatus"] == "run"]
    found = [
        *_of_allocations(scene, job, current),
        *_of_predecessors(scene, job_id, current),
        *_of_evaluations(scene, job, current),
    ]
    if found or _wanted(job) <= sum(map(is_running, current)):
        return list(dict.fromkeys(found))
    return [_unknown(scene, job_id, current)]


def _wanted(job: Json) -> int:
    """Returns how many allocations the job asks for; a system job's number is not known."""
    return 0 if job["Type"] == "system" else sum(int(group["Count"]) for group in job.get("TaskGroups") or [])


def _of_allocations(scene: Scene, job: Json, current: Sequence[Json]) -> Iterator[Reason]:
    for allocation in current:
        if allocation["ClientStatus"] == "unknown":
            yield _disconnected(job, allocation)
        elif not is_running(allocation) or is_unhealthy(allocation) or _restarts(allocation):
            told = events.reason(scene, allocation)
            if told is not None:
                yield told
            if allocation["ClientStatus"] == "pending":
                yield from _of_volumes(scene, job, allocation)
            elif told is None and is_unhealthy(allocation):
                yield _unhealthy(scene, allocation)


def _of_volumes(scene: Scene, job: Json, allocation: Json) -> Iterator[Reason]:
    """Yields what keeps a placed allocation from its volumes; where nothing does, that they are on their way."""
    for volume_id in sorted(volume_ids(job)):
        stuck = list(volumes.stuck_reasons(scene, volume_id))
        yield from stuck
        volume = scene.volume(volume_id)
        others = [claim for claim in scene.usage(volume).claims if claim.alloc_id != allocation["ID"]] if volume else []
        if others and not stuck:
            yield from volumes.holders(scene, volume_id)
    if not (allocation.get("TaskStates") or {}) and not volume_ids(job):
        what = f"allocation {allocation['ID'][:8]} is placed on {allocation['NodeName']}, which has not started it yet"
        yield Reason(what, "its client is busy, or does not answer", _status(scene, allocation), RUNBOOK)


def _of_predecessors(scene: Scene, job_id: str, current: Sequence[Json]) -> Iterator[Reason]:
    """Yields the allocations that are to stop and have not: what comes after them waits."""
    if current and all(map(is_running, current)):
        return
    for allocation in scene.of_job(job_id, "allocations"):
        if allocation["DesiredStatus"] == "stop" and allocation["ClientStatus"] not in ENDED:
            where = f"allocation {allocation['ID'][:8]} on {allocation['NodeName']}"
            what = f"{where} is to stop and is {allocation['ClientStatus']}"
            why = "the next one starts once its tasks have ended (kill_timeout) and its volumes are unmounted"
            yield Reason(what, why, _status(scene, allocation))


def _of_evaluations(scene: Scene, job: Json, current: Sequence[Json]) -> Iterator[Reason]:
    evaluations = scene.of_job(str(job["ID"]), "evaluations")
    for one in evaluations:
        if one["Status"] != "pending":
            continue
        later = str(one.get("WaitUntil") or "")
        if later and not later.startswith("0001"):
            failed = next((events.name(one) for one in current if one["ClientStatus"] in ENDED), "")
            what = f"Nomad places job {job['ID']} again at {later}"
            why = f"an allocation of it has failed{failed and f' ({failed})'}, and each retry waits longer"
            next_ = f"nomad job eval -force-reschedule{scene.scope} {job['ID']}, once the cause is fixed"
            yield Reason(what, why, next_, _RESCHEDULE)
        elif _age_s(one) > _WAITING_S:
            what = f"Nomad's servers have not evaluated job {job['ID']} for {_age_s(one):.0f} s"
            why = "they are busy, have no leader, or have just panicked"
            yield Reason(what, why, "nomad operator scheduler get-config; nomad server members", _PANIC)
    newest = next((one for one in evaluations if one.get("FailedTGAllocs")), None)
    if newest is None or _is_overtaken(newest, current, evaluations):
        return
    for metrics in newest["FailedTGAllocs"].values():
        yield from scheduler.reasons(scene, metrics, sorted(volume_ids(job)))


def _is_overtaken(failed: Json, current: Sequence[Json], evaluations: Sequence[Json]) -> bool:
    """Returns whether what an evaluation did not place has been placed since: no evaluation is blocked any more."""
    blocked = any(one["Status"] == "blocked" for one in evaluations)
    placed = any(int(one["CreateIndex"]) > int(failed["CreateIndex"]) for one in current)
    return placed or not (blocked or failed["Status"] == "blocked" or failed.get("BlockedEval"))


def _disconnected(job: Json, allocation: Json) -> Reason:
    what = f"allocation {allocation['ID'][:8]} is on {allocation['NodeName']}, which reaches no Nomad server"
    why = (
        "it stops there by itself after stopAfterDisconnect and killTimeout; another starts when the volume is detached"
    )
    rules = [group.get("Disconnect") or {} for group in job.get("TaskGroups") or []]
    if any(one.get("Replace") is False for one in rules):
        minutes = max(int(one.get("LostAfter") or 0) for one in rules) / 60e9
        why = f"it comes back with its client; for {minutes:.0f} minutes Nomad starts no other in its place"
        return Reason(what, why, "bring the client back; where its instance is off, nomad-stateful recover")
    return Reason(what, why, "nomad-stateful status; nomad-stateful recover")


def _status(scene: Scene, allocation: Json) -> str:
    return f"nomad alloc status{scene.scope} {allocation['ID'][:8]}"


def _unhealthy(scene: Scene, allocation: Json) -> Reason:
    what = f"allocation {allocation['ID'][:8]} on {allocation['NodeName']} runs and its checks have not passed in time"
    at = f"{scene.scope} {allocation['ID'][:8]}"
    next_ = f"nomad alloc checks{at}; nomad alloc logs -stderr{at}"
    return Reason(what, "its deployment has failed; `pulumi up` deploys again", next_, "docs/consumers.md")


def _unknown(scene: Scene, job_id: str, current: Sequence[Json]) -> Reason:
    states = ", ".join(f"{one['ID'][:8]} is {one['ClientStatus']}" for one in current) or "it has no allocation"
    what = f"job {job_id} does not run: {states}"
    next_ = f"nomad job status{scene.scope} {job_id}"
    return Reason(what, "neither an evaluation nor an event says why", next_, RUNBOOK)


def _restarts(allocation: Json) -> bool:
    states = (allocation.get("TaskStates") or {}).values()
    return any(state.get("Restarts") and state.get("State") != "running" for state in states)


def _age_s(evaluation: Json) -> float:
    return datetime.now(UTC).timestamp() - int(evaluation.get("CreateTime") or 0) / 1e9
