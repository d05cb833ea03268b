"""The removal of everything that drills of a volume have made, found by its names in Nomad and its tags in EC2."""

from __future__ import annotations

from collections.abc import Callable

from nomad_stateful.ebs.ec2_client import AwsPlace
from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.consumer_job import ConsumerJob
from nomad_stateful.nomad.paths import job_path, volume_path
from nomad_stateful.nomad.running_job import ENDED
from nomad_stateful.nomad.volume_claims import claims
from nomad_stateful.operate.cluster import wait_for
from nomad_stateful.operate.drill import snapshots
from nomad_stateful.operate.drill.model import Target

TIMEOUT_S = 180.0


def variable_path(target: Target) -> str:
    """Returns where the drill's password is: the job alone may read it."""
    return f"nomad/jobs/{target.id}"


def remove(nomad: NomadApi, place: AwsPlace, target: Target, keep: Callable[[str], None] | None = None) -> list[str]:
    """Removes job, password, registration and EBS volumes, in the order that detaches before it deletes.

    `keep` is called with each EBS volume that is detached, before it is deleted.

    Returns what there was. Raises OperateError and ProviderError; then the rest is still there.
    """
    removed = [*_job(nomad, target), *_variable(nomad, target)]
    registered = nomad.find(volume_path(target.id), namespace=target.namespace) is not None
    if registered:
        _await_claims(nomad, target)
    volumes = snapshots.left_over(place, target)
    for volume_id in volumes:
        snapshots.await_detached(place, volume_id, TIMEOUT_S)
    if registered:
        # While it is registered, Nomad detaches it.
        nomad.delete(volume_path(target.id), namespace=target.namespace)
        removed.append(f"registration {target.id}")
    for volume_id in volumes:
        if keep is not None:
            keep(volume_id)
        snapshots.delete(place, volume_id)
        removed.append(f"EBS volume {volume_id}")
    return removed


def left(place: AwsPlace, target: Target) -> list[str]:
    """Returns the EBS volumes that are still there, as far as EC2 says."""
    try:
        return snapshots.left_over(place, target)
    except ProviderError:
        return []


def _job(nomad: NomadApi, target: Target) -> list[str]:
    """Stops the job, and purges it once Nomad has evaluated it and its tasks have ended."""
    path, namespace = job_path(target.id), target.namespace
    if nomad.find(path, namespace=namespace) is None:
        return []
    nomad.delete(path, namespace=namespace)

    def ended() -> bool | None:
        evaluations = nomad.get(f"{path}/evaluations", namespace=namespace) or []
        allocations = nomad.get(f"{path}/allocations", namespace=namespace) or []
        busy = any(one["Status"] == "pending" for one in evaluations)
        return None if busy or any(one["ClientStatus"] not in ENDED for one in allocations) else True

    remedy = f"See `nomad job status -namespace {target.namespace} {target.id}`."
    wait_for(f"job {target.id} ends", ended, TIMEOUT_S, remedy)
    job = ConsumerJob(nomad, target.namespace, target.id)
    wait_for(f"job {target.id} releases its volume", lambda: job.purge_if_ended() or None, TIMEOUT_S, remedy)
    return [f"job {target.id}"]


def _variable(nomad: NomadApi, target: Target) -> list[str]:
    path = f"var/{variable_path(target)}"
    if nomad.find(path, namespace=target.namespace) is None:
        return []
    nomad.delete(path, namespace=target.namespace)
    return ["its variable"]


def _await_claims(nomad: NomadApi, target: Target) -> None:
    def released() -> bool | None:
        return None if claims(nomad.find(volume_path(target.id), namespace=target.namespace)) else True

    wait_for(
        f"volume {target.id} is released",
        released,
        TIMEOUT_S,
        f"See `nomad volume status -namespace {target.namespace} {target.id}`, and docs/runbook.md.",
    )
