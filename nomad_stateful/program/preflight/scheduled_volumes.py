"""Existing EBS volumes with schedules: they are there, and no other stack takes their snapshots."""

from concurrent.futures import Future
from typing import Any

from nomad_stateful.ebs.tags import SNAPSHOTS_TAG
from nomad_stateful.program.plan.model import ExistingVolume, Plan
from nomad_stateful.program.prefetch import CallError, Prefetch
from nomad_stateful.program.settings import Problem

Answers = dict[str, Future[dict[str, Any]]]


def ask(plan: Plan, prefetch: Prefetch) -> Answers:
    """Asks EC2 for the existing volumes of which snapshots are wanted; by name."""
    return {
        volume.name: prefetch.call(
            "aws:ebs/getVolume:getVolume", {"filters": [{"name": "volume-id", "values": [volume.external_id]}]}
        )
        for volume in plan.volumes
        if volume.scheduled and isinstance(volume, ExistingVolume)
    }


def problems(plan: Plan, stack: str, region: str, answers: Answers) -> list[Problem]:
    """Returns why volumes cannot be scheduled; `stack` is PROJECT/STACK."""
    return [
        problem
        for volume in plan.volumes
        if isinstance(volume, ExistingVolume)
        and volume.name in answers
        and (problem := _problem(volume, stack, region, answers[volume.name])) is not None
    ]


def _problem(volume: ExistingVolume, stack: str, region: str, answer: Future[dict[str, Any]]) -> Problem | None:
    key, value = f"{volume.key}.externalId", volume.external_id
    try:
        found = answer.result()
    except CallError as error:
        rule = f"it has snapshots, and EC2 does not return it in {region}: {error}"
        remedy = "use the id of a volume of this account and region, and allow ec2:DescribeVolumes"
        return Problem(key, value, rule, remedy)
    holder = str((found.get("tags") or {}).get(SNAPSHOTS_TAG) or "")
    if holder and not holder.startswith(f"{stack}/"):
        rule = (
            f"it has the tag {SNAPSHOTS_TAG}: {holder}, by which the schedules of another stack take its snapshots; "
            "they would end"
        )
        remedy = (
            f"remove volumes.{volume.name}.snapshots; or remove that stack's and run `pulumi up` there. If that stack "
            f"is gone: `aws ec2 delete-tags --resources {value} --tags Key={SNAPSHOTS_TAG}`"
        )
        return Problem(f"volumes.{volume.name}.snapshots", f"of {value}", rule, remedy)
    zone = str(found.get("availabilityZone") or "")
    if zone and volume.zone and zone != volume.zone:
        rule = f"{value} is in {zone}"
        return Problem(f"volumes.{volume.name}.zone", volume.zone, rule, f"set it to {zone}")
    return None
