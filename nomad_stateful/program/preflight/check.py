"""What can only be checked against AWS and Nomad themselves, before the first resource is planned."""

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import pulumi

from nomad_stateful.components.zonal_volumes import Adopted
from nomad_stateful.program.environment import Environment
from nomad_stateful.program.plan.model import EbsVolume, Plan, Volume
from nomad_stateful.program.prefetch import CallError, Prefetch
from nomad_stateful.program.preflight import (
    adoption,
    answers,
    clients,
    database,
    dump_bucket,
    ownership,
    placement,
    restored_snapshots,
    scheduled_volumes,
    stack_state,
    volumes,
)
from nomad_stateful.program.settings import Problem, Settings, SettingsError, cluster
from nomad_stateful.visible import visible

_GET_OWNERS = "nomad-csi:index:getOwners"
_GET_JOB = "nomad-csi:index:getJob"
_GET_VOLUMES = "nomad-csi:index:getVolumes"
Call = Future[dict[str, Any]]
Resources = Mapping[str, dict[str, Any]]


def check(settings: Settings, plan: Plan, prefetch: Prefetch) -> Environment:
    """Returns what the stack is deployed into.

    Raises SettingsError where AWS or Nomad cannot be reached or does not have what the settings name.
    """
    apart = cluster.mismatches()
    if apart:
        raise SettingsError(apart)
    role = prefetch.call("aws:iam/getRole:getRole", {"name": settings.client_role})
    jobs = [prefetch.call(_GET_JOB, {"jobId": job, **_namespace(settings)}) for job in _jobs_to_read(settings)]
    planned = placement.ask(plan, prefetch)
    bucket = dump_bucket.ask(plan, prefetch)
    scheduled = scheduled_volumes.ask(plan, prefetch)
    owners = prefetch.call(_GET_OWNERS, ownership.question(plan))
    environment = _environment(prefetch)
    nomad = answers.cluster(prefetch)
    resources = stack_state.resources(prefetch)
    new, lost = _volume_problems(plan, resources)
    problems = [
        *clients.refused_versions(settings, nomad),
        *clients.unknown_zones(plan, answers.zones(prefetch)["names"], environment.region),
        *clients.without_client(plan, nomad, prefetch),
        *placement.unknown_pools(settings, nomad),
        *_unknown_role(settings, role),
        *_database_problems(settings, [_job(settings, answer) for answer in jobs]),
        *dump_bucket.problems(plan, environment.region, bucket),
        *dump_bucket.refusing(plan, resources),
        *scheduled_volumes.problems(plan, environment.stack, environment.region, scheduled),
        *lost,
    ]
    problems += placement.problems(settings, nomad, planned, problems, only_preview=pulumi.runtime.is_dry_run())
    adopted, not_adopted = _adopted(prefetch, environment, new, resources)
    restored = _restored(prefetch, environment, [one for one in new if one.id not in adopted], resources)
    known = ownership.Known.of(resources.values(), {name: one["volume_id"] for name, one in adopted.items()})
    owned = ownership.judge(plan, environment.claimant, known, _owners(prefetch, plan, known, owners))
    problems += [*not_adopted, *restored, *owned.problems]
    if problems:
        raise SettingsError(problems)
    for warning in dump_bucket.unversioned(plan, answers.place(prefetch)):
        pulumi.warn(str(warning))
    for told in dump_bucket.locks(plan, resources):
        pulumi.warn(told)
    for volume_id, one in adopted.items():
        pulumi.info(f"volume {volume_id} is {one['volume_id']}, this stack's by its tags, with what is on it.")
    return replace(environment, adopted=adopted, grown=stack_state.grown(resources), expects=owned.expects)


def _environment(prefetch: Prefetch) -> Environment:
    identity = answers.identity(prefetch)
    return Environment(
        account_id=identity["accountId"],
        partition=identity["arn"].split(":")[1],
        region=answers.zones(prefetch)["region"],
        aws_config=answers.aws_config(),
        stack=stack_state.name(),
        claimant=stack_state.full_name(),
    )


def _namespace(settings: Settings) -> dict[str, str]:
    return {"namespace": settings.placement.namespace}


def _job(settings: Settings, answer: Call) -> dict[str, Any]:
    """Returns a job that is registered; blames the namespace where the token may not read there."""
    try:
        return answer.result()
    except CallError as error:
        if "403" in str(error):
            raise SettingsError([placement.forbidden(settings, str(error))]) from None
        return answers.of_nomad(answer)


def _jobs_to_read(settings: Settings) -> list[str]:
    """Returns the jobs of the database; without one any job, which shows that the token may read jobs."""
    section = settings.database
    if section is None:
        return [job for _, job in settings.jobs][:1]
    return [*section.job_ids, *section.former_job_ids, *([section.backup.job_id] if section.backup else [])]


def _database_problems(settings: Settings, registered: list[dict[str, Any]]) -> list[Problem]:
    section = settings.database
    if section is None:
        return []
    count = len(section.job_ids) + len(section.former_job_ids)
    servers, dumps = registered[:count], registered[count:]
    for job in dumps:
        for warning in database.failing_dumps(section, job, settings.placement.namespace):
            pulumi.warn(visible(warning))
    for warning in database.unverified(settings, section):
        pulumi.warn(warning)
    is_set = settings.volume(section.volume).count is not None
    return [
        problem
        for job in servers
        for problem in (*database.unreadable(section, job), *database.former_group(section, job, is_set=is_set))
    ]


def _owners(prefetch: Prefetch, plan: Plan, known: ownership.Known, first: Call) -> dict[str, Any]:
    """Returns the answer about all ids, with the users of volumes whose fate depends on them, which is asked then."""
    answer = answers.of_nomad(first)
    strange = ownership.strange_volumes(plan, known, answer)
    if not strange:
        return answer
    again = prefetch.call(_GET_OWNERS, {"volumes": strange, "users": True, "namespace": plan.namespace})
    used = {one["id"]: one for one in answers.of_nomad(again)["found"]}
    found = [used.get(one["id"], one) if one["kind"] == "volume" else one for one in answer["found"]]
    return {**answer, "found": found}


def _volume_problems(plan: Plan, resources: Resources) -> tuple[list[Volume], list[Problem]]:
    """Returns the volumes that the stack does not have yet, and what would lose data; tells what changes for others."""
    found = volumes.judge(plan, stack_state.stored(resources))
    for warning in found.warnings:
        pulumi.warn(str(warning))
    for note in found.notes:
        pulumi.info(str(note))
    return found.new, found.problems


def _adopted(
    prefetch: Prefetch, environment: Environment, new: list[Volume], resources: Resources
) -> tuple[dict[str, Adopted], list[Problem]]:
    """Returns what the stack left in AWS and adopts again; EC2 is asked where there is something new."""
    made = [one for one in new if isinstance(one, EbsVolume)]
    if not made:
        return {}, []
    place = {"region": environment.region, "accountId": environment.account_id, "awsConfig": answers.aws_text()}
    answer = answers.of_volumes(prefetch.call(_GET_VOLUMES, {"stack": environment.stack, **place}))
    known = stack_state.own_ids(resources)
    left = [one for one in answer["volumes"] if one["id"] not in known]
    for problem in adoption.not_found(made, environment.stack, left):
        pulumi.warn(str(problem))
    return adoption.adopt(made, left, stack_state.cut_off(resources))


def _restored(prefetch: Prefetch, environment: Environment, made: list[Volume], resources: Resources) -> list[Problem]:
    """Returns which snapshots may not be restored; EC2 is asked where a new volume is made from one."""
    own = stack_state.own_ids(resources)
    return restored_snapshots.problems(made, environment.stack, own, restored_snapshots.ask(made, prefetch))


def _unknown_role(settings: Settings, answer: Call) -> list[Problem]:
    try:
        answer.result()
    except CallError as error:
        rule = f"the role cannot be read: {error}"
        remedy = "name the role of the Nomad clients' instance profile"
        return [Problem("clientRole", settings.client_role, rule, remedy)]
    return []
