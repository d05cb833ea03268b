"""What must hold after every run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any, Final

from nomad_stateful.nomad.api import NomadApi, NomadApiError, NomadNotFound
from nomad_stateful.nomad.running_job import allocations
from nomad_stateful.nomad.volume_claims import claims
from sandbox.cloud.inventory import account_contents, root_volumes
from sandbox.cluster import acl, tls
from sandbox.machine import loops
from tools.faults.lane import Lane
from tools.trial.namespaces import management
from tools.trial.running import eventually

SETTLE_TIMEOUT_S: Final = 90.0
_POLL_S: Final = 0.5
_LIVE: Final = ("pending", "running")


def not_converged(lane: Lane) -> str:
    """What a preview of the deployed stack would still change; empty when it is nothing."""
    preview = lane.pulumi("preview", "--expect-no-changes")
    return "" if preview.returncode == 0 else f"preview is not empty: {preview.stdout}{preview.stderr}"


def broken(lane: Lane) -> list[str]:
    """What a preview would still change, and volumes that two instances had mounted since this was asked last."""
    found = [*filter(None, [not_converged(lane)]), *map(str, lane.mounts.violations)]
    lane.mounts.violations.clear()
    return found


def await_jobs(lane: Lane, wanted: Mapping[str, int]) -> None:
    """Waits until exactly these jobs are there, by namespace and id, each with so many running allocations.

    Raises AssertionError at the deadline.
    """
    with closing(management(lane.stack)) as api, lane.waits("exactly what is configured runs", SETTLE_TIMEOUT_S):
        eventually(
            lambda: running_jobs(api) == wanted or None,
            SETTLE_TIMEOUT_S,
            f"exactly what is configured runs: {wanted}",
            lambda: f"running: {running_jobs(api)}",
        )


def volume_ids(lane: Lane) -> dict[str, str]:
    """Ids of the EC2 volumes in the state, by the name of the volume."""
    found = [one for one in lane.resources() if one["type"] == "aws:ebs/volume:Volume"]
    return {str(one["inputs"]["tags"]["Name"]): str(one["id"]) for one in found}


def running_jobs(api: NomadApi) -> dict[str, int]:
    """How many allocations of each job run, by namespace and id."""
    jobs = [one for one in api.get("jobs", namespace="*") if one["Status"] != "dead" and not one["ParentID"]]
    return {
        f"{one['Namespace']}/{one['ID']}": sum(
            stub["ClientStatus"] == "running" and not _is_restored_alone(api, stub)
            for stub in allocations(api, one["ID"], one["Namespace"])
        )
        for one in jobs
    }


def _is_restored_alone(api: NomadApi, stub: Mapping[str, Any]) -> bool:
    """Whether an allocation of no task runs: its client restored it, and learns after its claim that it has to stop.

    The claim may take as long as another holds the volume (docs/runbook.md, A claim that is not released).
    """
    if stub["DesiredStatus"] != "stop":
        return False
    try:
        return not api.get(f"client/allocation/{stub['ID']}/stats", namespace=stub["Namespace"])["Tasks"]
    except NomadApiError:
        return False


def orphans(lane: Lane) -> list[str]:
    """What no state and no allocation answers for, once Nomad had the time to release it."""
    ids = ids_by_type(lane.resources())
    return _settled(lane, "no orphan", lambda: [*_unknown_to_the_state(lane, ids), *_held_by_nobody(lane)])


def leftovers(lane: Lane) -> list[str]:
    """What a destroy left, once Nomad had the time to release it."""
    in_state = [item["type"] for item in lane.resources() if item["type"] != "pulumi:pulumi:Stack"]
    found = _settled(lane, "nothing of the stack left", lambda: list(_left_by_the_stack(lane)))
    return [*[f"{kind} in the state" for kind in in_state], *found]


def ids_by_type(resources: list[dict[str, Any]]) -> dict[str, set[str]]:
    """Ids of the resources in a state, by the last part of their type (`Volume`, `Job`)."""
    found: dict[str, set[str]] = {}
    for item in resources:
        found.setdefault(str(item["type"]).rpartition(":")[2], set()).add(str(item.get("id", "")))
    return found


def dead_claims(volume: Mapping[str, Any]) -> list[str]:
    """Claims on a volume, as Nomad describes it, whose allocation does not live."""
    return [
        f"claim of {claim} on {volume['ID']}, whose allocation does not live"
        for claim in claims(volume)
        if claim.status not in _LIVE
    ]


def unclaimed_attachments(volumes: list[dict[str, Any]], registered: list[Mapping[str, Any]]) -> list[str]:
    """EC2 volumes that are attached although nothing in Nomad claims them."""
    claimed = {str(one["ExternalID"]) for one in registered if claims(one)}
    return [
        f"attachment of {volume['VolumeId']} to {volume['Attachments'][0]['InstanceId']}, which nothing claims"
        for volume in volumes
        if volume.get("Attachments") and volume["VolumeId"] not in claimed
    ]


def _settled(lane: Lane, what: str, look: Callable[[], list[str]]) -> list[str]:
    """What is still found at the deadline; empty as soon as nothing is."""
    deadline = time.monotonic() + SETTLE_TIMEOUT_S
    with lane.waits(what, SETTLE_TIMEOUT_S):
        while found := look():
            if time.monotonic() > deadline:
                return found
            time.sleep(_POLL_S)
    return []


def _unknown_to_the_state(lane: Lane, ids: Mapping[str, set[str]]) -> Iterator[str]:
    for volume in _volumes(lane):
        if volume["VolumeId"] not in ids.get("Volume", set()):
            yield f"volume {volume['VolumeId']}, in no state"
    names = {arn.rpartition("/")[2] for arn in ids.get("Policy", set())}
    for thing in account_contents(lane.settings):
        kind, _, name = thing.partition(" ")
        if kind == "policy" and name not in names:
            yield f"{thing}, in no state"
    nomad = lane.stack.nomad
    for job in nomad.get("jobs", namespace="*"):
        if job["Status"] != "dead" and job["ID"] not in ids.get("Job", set()):
            yield f"job {job['ID']}, in no state"
    for volume in nomad.get("volumes", type="csi", namespace="*"):
        if volume["ID"] not in ids.get("CsiVolumeRegistration", set()):
            yield f"registration {volume['ID']}, in no state"


def _held_by_nobody(lane: Lane) -> Iterator[str]:
    registered = _registered(lane.stack.nomad)
    for volume in registered:
        yield from dead_claims(volume)
    yield from unclaimed_attachments(_volumes(lane), registered)


def _registered(nomad: NomadApi) -> list[Mapping[str, Any]]:
    found = []
    for stub in nomad.get("volumes", type="csi", namespace="*"):
        try:
            found.append(nomad.get(f"volume/csi/{stub['ID']}", namespace=stub["Namespace"]))
        except NomadNotFound:
            continue
    return found


def _left_by_the_stack(lane: Lane) -> Iterator[str]:
    yield from account_contents(lane.settings)
    with closing(tls.connect(lane.settings, acl.read_tokens(lane.settings).management)) as nomad:
        yield from (f"job {job['ID']}" for job in nomad.get("jobs", namespace="*") if job["Status"] != "dead")
        yield from (f"registration {one['ID']}" for one in nomad.get("volumes", type="csi", namespace="*"))
        yield from (f"variable {one['Path']}" for one in nomad.get("vars", namespace="*"))
    roots = root_volumes(lane.stack.ec2)
    for device, image in loops.devices_under(lane.settings.home).items():
        if image.stem not in roots:
            yield f"loop device {device} over {image.stem}{', mounted' if loops.is_busy(device) else ''}"


def _volumes(lane: Lane) -> list[dict[str, Any]]:
    """The account's volumes but for those that instances boot from."""
    roots = root_volumes(lane.stack.ec2)
    return [one for one in lane.stack.ec2.describe_volumes()["Volumes"] if one["VolumeId"] not in roots]
