"""Failover: jobs whose client is lost, and when Nomad need not wait for that client any more.

With `stop_on_client_after` Nomad places another allocation only that time and the longest `kill_timeout` after it
called the client down, since the client may be cut off and need that long to stop its tasks. It asks nobody whether the
client's instance still exists. Any evaluation of the job before then places the other allocation at once: only
allocations that are not marked as lost yet are asked for that time
(https://github.com/hashicorp/nomad/blob/v1.11.3/scheduler/reconciler/reconcile_cluster.go, `delayByStopAfter`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from nomad_stateful.ebs.volumes import EbsVolumes, is_ebs_volume
from nomad_stateful.nomad import clients
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.clients import Client
from nomad_stateful.nomad.consumer_job import volume_ids
from nomad_stateful.nomad.paths import job_path, volume_path
from nomad_stateful.nomad.running_job import allocations

Verdict = Literal["start", "fence", "wait"]

# Nothing runs there, for good or until it is started. Not `stopping` or `shutting-down`: something may write still.
_OFF = frozenset({"stopped", "terminated"})


@dataclass(frozen=True)
class DelayedJob:
    """A job that Nomad starts elsewhere only after a wait, because it lost the client it ran on."""

    namespace: str
    job_id: str
    evaluation_ids: frozenset[str]
    """What Nomad waits with: one for each time that it called clients of the job lost."""
    clients: tuple[Client, ...]
    """All that it lost and has not been placed again for: an evaluation is of the whole job."""
    external_ids: frozenset[str]
    """Its volumes' ids at the provider."""
    volume_ids: frozenset[str]
    """Its volumes' ids in Nomad."""

    @property
    def about(self) -> str:
        """What is said of it is said of these evaluations."""
        return " ".join(sorted(self.evaluation_ids))


@dataclass(frozen=True)
class Finding:
    """What EC2 says about a delayed job."""

    verdict: Verdict
    why: str
    instance_ids: tuple[str, ...] = ()
    """Instances that may still write, where they are to be fenced."""


def delayed_jobs(api: NomadApi, namespace: str) -> Iterator[DelayedJob]:
    """Yields the jobs of a namespace that wait for lost clients. Raises NomadError."""
    pending: dict[str, set[str]] = {}
    for evaluation in api.get("evaluations", namespace=namespace, status="pending") or []:
        if evaluation.get("TriggeredBy") == "alloc-failure" and evaluation.get("JobID"):
            pending.setdefault(str(evaluation["JobID"]), set()).add(str(evaluation["ID"]))
    for job_id, evaluation_ids in pending.items():
        stubs = allocations(api, job_id, namespace)
        # The same kind of evaluation delays the rescheduling of an allocation that failed: that one has to wait.
        lost = [
            one
            for one in stubs
            if one["FollowupEvalID"] in evaluation_ids
            and one["ClientStatus"] == "lost"
            and not one.get("NextAllocation")
        ]
        if lost and (job := api.find(job_path(job_id), namespace=namespace)):
            yield _delayed_job(api, namespace, job_id, job, lost)


def _delayed_job(
    api: NomadApi, namespace: str, job_id: str, job: Mapping[str, Any], lost: Sequence[Mapping[str, Any]]
) -> DelayedJob:
    wanted = frozenset(volume_ids(job))
    volumes = [api.find(volume_path(volume_id), namespace=namespace) or {} for volume_id in sorted(wanted)]
    return DelayedJob(
        namespace,
        job_id,
        frozenset(str(one["FollowupEvalID"]) for one in lost),
        tuple(clients.find(api, one) or clients.gone(one) for one in sorted({str(one["NodeID"]) for one in lost})),
        frozenset(str(volume.get("ExternalID") or "") for volume in volumes),
        wanted,
    )


def judge(job: DelayedJob, ebs: EbsVolumes) -> Finding:
    """Returns whether the job can start elsewhere now, because no lost client can write any more. Raises ProviderError.

    A client cannot when EC2 says that its instance is stopped or terminated, or that none of the job's volumes is
    attached to it: EC2 attaches a volume to one instance at a time, and detaches none that is mounted.
    """
    if unknown := [client.name for client in job.clients if not client.instance_id]:
        return Finding("wait", f"it is not known which instance client {', '.join(unknown)} is")
    states = ebs.instance_states([client.instance_id for client in job.clients])
    running = [client for client in job.clients if states[client.instance_id] not in _OFF]
    if not running:
        return Finding("start", "; ".join(f"{_on_ec2(one)} is {states[one.instance_id]}" for one in job.clients))
    if not job.external_ids or not all(is_ebs_volume(one) for one in job.external_ids):
        return Finding("wait", "it has a volume that several instances can mount")
    attached = _attached_to(job, ebs)
    holding = [client for client in running if client.instance_id in attached]
    if not holding:
        return Finding("start", f"EC2 has no volume of it attached to {', '.join(map(_on_ec2, running))}")
    why = "; ".join(f"{_on_ec2(one)} is {states[one.instance_id]} and has its volume attached" for one in holding)
    fenceable = tuple(
        one.instance_id for one in holding if one.status == "down" and states[one.instance_id] == "running"
    )
    return Finding("fence" if fenceable else "wait", why, fenceable)


def _on_ec2(client: Client) -> str:
    return f"client {client.name} ({client.instance_id})"


def _attached_to(job: DelayedJob, ebs: EbsVolumes) -> set[str]:
    return {item.instance_id for one in job.external_ids for item in ebs.state(one).attachments}


def cut_off(api: NomadApi, ebs: EbsVolumes) -> tuple[int, int]:
    """Returns how many clients are down though their instances run, and how many are ready. Raises ProviderError."""
    stubs = clients.listed(api)
    away = [one.instance_id for one in clients.read(api, [stub for stub in stubs if not stub.is_up]) if one.instance_id]
    states = ebs.instance_states(away) if away else {}
    return list(states.values()).count("running"), [stub.status for stub in stubs].count("ready")
