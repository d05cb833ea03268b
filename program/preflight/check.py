"""What can only be checked against AWS and Nomad themselves, before the first resource is planned."""

import json
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import pulumi

from nomad_stateful.ebs import aws_session
from nomad_stateful.ebs.ec2_client import AwsPlace
from nomad_stateful.nomad import versions as nomad_versions
from nomad_stateful.sdk import Cluster, ClusterNode
from program.prefetch import Questions, Unanswered
from program.preflight import adoption as preflight_adoption
from program.preflight import mysql as preflight_mysql
from program.preflight import ownership as preflight_ownership
from program.preflight import placement as preflight_placement
from program.preflight import stack_state, stored_volumes
from program.preflight import volumes as preflight_volumes
from program.preflight.adoption import Adopted
from program.preflight.volumes import Wanted
from program.settings import Problem, Settings, SettingsError, aws, cluster, rules
from program.settings.volume import Member
from program.surroundings import Surroundings

_GET_OWNERS = "nomad-csi:index:getOwners"
_GET_JOB = "nomad-csi:index:getJob"
_GET_VOLUMES = "nomad-csi:index:getVolumes"
_NOMAD_REMEDY = (
    "check what names the cluster: NOMAD_ADDR, NOMAD_TOKEN and, with TLS, NOMAD_CACERT, NOMAD_CLIENT_CERT and "
    "NOMAD_CLIENT_KEY"
)

_AWS_REMEDY = "check the region, the credentials and the endpoint of the aws provider"
_ZONES_REMEDY = "allow ec2:DescribeAvailabilityZones"


def check(settings: Settings, asked: Questions) -> Surroundings:
    """Raises SettingsError where AWS or Nomad cannot be reached or does not have what the settings name."""
    apart = cluster.mismatches()
    if apart:
        raise SettingsError(apart)
    role = asked.ask("aws:iam/getRole:getRole", {"name": settings.client_role})
    running = {job: asked.ask(_GET_JOB, {"jobId": job, **_namespace(settings)}) for job in _jobs_to_read(settings)}
    placed = preflight_placement.ask(settings, asked)
    owners = asked.ask(_GET_OWNERS, preflight_ownership.question(settings))
    identity = _known("AWS", asked.identity, _AWS_REMEDY)
    zones = _known("AWS", asked.zones, _ZONES_REMEDY)
    nomad = Cluster.of(_known("Nomad", asked.cluster, _NOMAD_REMEDY))
    _known("Nomad", asked.plugins, _NOMAD_REMEDY)
    resources = stack_state.resources(asked)
    new, lost = _volume_problems(settings, resources)
    problems = [
        *_unsafe_nomad(settings, nomad),
        *_unknown_zones(settings, zones["names"], zones["region"]),
        *_zones_without_client(settings, nomad, asked),
        *preflight_placement.unknown_pools(settings, nomad),
        *_unknown_role(settings, role),
        *_mysql_problems(settings, {job: _job(settings, answer) for job, answer in running.items()}),
        *lost,
    ]
    problems += preflight_placement.problems(
        settings, nomad, placed, problems, only_preview=pulumi.runtime.is_dry_run()
    )
    here = Surroundings(
        account_id=identity["accountId"],
        partition=identity["arn"].split(":")[1],
        region=zones["region"],
        aws_config=_aws_config(),
        stack=f"{pulumi.get_project()}/{pulumi.get_stack()}",
        claimant=stack_state.full_name(),
    )
    adopted, not_adopted = _adopted(asked, here, new, resources)
    owned = preflight_ownership.judge(
        settings,
        here.claimant,
        preflight_ownership.Known.of(resources.values(), [one["volume_id"] for one in adopted.values()]),
        _known("Nomad", owners, _NOMAD_REMEDY),
    )
    problems += [*not_adopted, *owned.problems]
    if problems:
        raise SettingsError(problems)
    for volume_id, one in adopted.items():
        pulumi.info(f"volume {volume_id} is {one['volume_id']}, which this stack made before, with what is on it.")
    return replace(here, adopted=adopted, expects=owned.expects)


def place(asked: Questions) -> AwsPlace:
    """Where the aws provider makes resources, for questions that it has no function for. Raises SettingsError."""
    identity = _known("AWS", asked.identity, _AWS_REMEDY)
    region = _known("AWS", asked.zones, _ZONES_REMEDY)["region"]
    return AwsPlace(region, identity["accountId"], aws_session.chosen(aws.provider_config()))


def _aws_config() -> pulumi.Input[str]:
    """The aws provider's configuration for our own resources; a secret where it holds one."""
    text = _aws_text()
    holds_secret = any(key in aws_session.SECRET_KEYS | aws.secret_keys() for key in json.loads(text or "{}"))
    return pulumi.Output.secret(text) if holds_secret else text


def _aws_text() -> str:
    return aws_session.chosen(aws.provider_config())


def _known(what: str, answer: "Future[dict[str, Any]]", remedy: str) -> dict[str, Any]:
    try:
        return answer.result()
    except Unanswered as error:
        raise SettingsError([Problem(what, "not usable", str(error), remedy)]) from None


def _unsafe_nomad(settings: Settings, cluster: Cluster) -> list[Problem]:
    """Servers, and clients that may run the jobs, in versions that do not keep data safe."""
    servers = [(server.name, server.version) for server in cluster.servers]
    clients = [
        (node.name, node.version) for node in cluster.nodes if node.status != "down" and _may_run(settings, node)
    ]
    for version in sorted({version for _, version in servers}):
        for fault in nomad_versions.warnings(version):
            pulumi.warn(f"Nomad {version}: {fault}. Upgrade the servers to {nomad_versions.ADVISED} or newer.")
    remedy = f"upgrade to {nomad_versions.ADVISED} or newer, the servers first"
    return [
        Problem(f"the version of Nomad {what} {', '.join(names)}", version, "; ".join(reasons), remedy)
        for what, agents in (("server", servers), ("client", clients))
        for version in sorted({version for _, version in agents})
        if (reasons := nomad_versions.refusals(version, is_client=what == "client"))
        for names in [sorted(name for name, known in agents if known == version)]
    ]


def _may_run(settings: Settings, node: ClusterNode) -> bool:
    pools = {consumer.node_pool or settings.placement.node_pool for consumer in settings.consumers}
    pools.add(settings.placement.node_pool)
    return any(preflight_placement.may_run(pool, settings.placement.datacenters, node) for pool in pools)


def _namespace(settings: Settings) -> dict[str, str]:
    return {"namespace": settings.placement.namespace}


def _job(settings: Settings, answer: "Future[dict[str, Any]]") -> dict[str, Any]:
    """A job that is registered. Raises SettingsError, by the namespace where the token may not read there."""
    try:
        return answer.result()
    except Unanswered as error:
        if "403" in str(error):
            raise SettingsError([preflight_placement.forbidden(settings, str(error))]) from None
        return _known("Nomad", answer, _NOMAD_REMEDY)


def _jobs_to_read(settings: Settings) -> list[str]:
    """The jobs of MySQL; without it any one, which shows that the token may read jobs."""
    if settings.mysql is None:
        plugin = settings.plugins[0]
        return [rules.job_ids(plugin)[plugin.known.node_role]]
    return [settings.mysql.job_id, *([settings.mysql.backup.job_id] if settings.mysql.backup else [])]


def _mysql_problems(settings: Settings, registered: dict[str, dict[str, Any]]) -> list[Problem]:
    if settings.mysql is None:
        return []
    server, *dumps = registered.values()
    for job in dumps:
        for warning in preflight_mysql.failing_dumps(job):
            pulumi.warn(warning)
    return preflight_mysql.downgrade(settings.mysql, server)


def _volume_problems(settings: Settings, resources: dict[str, Any]) -> tuple[list[Wanted], list[Problem]]:
    """Volumes that the stack does not have yet, and what would lose data; what else becomes of volumes is said."""
    found = preflight_volumes.judge(settings, stored_volumes.stored(resources))
    for warning in found.warnings:
        pulumi.warn(str(warning))
    for note in found.notes:
        pulumi.info(str(note))
    return found.new, found.problems


def _adopted(
    asked: Questions, here: Surroundings, new: list[Wanted], resources: dict[str, Any]
) -> tuple[dict[str, Adopted], list[Problem]]:
    """What the stack left in AWS and takes up again; EC2 is asked where there is something new."""
    made = [one for one in new if one.volume.provision == "pulumi"]
    if not made:
        return {}, []
    place = {"region": here.region, "accountId": here.account_id, "awsConfig": _aws_text()}
    try:
        answer = asked.ask(_GET_VOLUMES, {"stack": here.stack, **place}).result()
    except Unanswered as error:
        pulumi.warn(
            f"{error}. Volumes that this stack left in AWS are not looked for: an empty one may be made beside."
        )
        return {}, []
    known = {one.external_id for one in stored_volumes.stored(resources).values()}
    left = [one for one in answer["volumes"] if one["id"] not in known]
    return preflight_adoption.adopt(made, here.stack, left, stored_volumes.cut_off(resources))


def _unknown_zones(settings: Settings, known: Sequence[str], region: str) -> list[Problem]:
    return [
        Problem(
            f"volumes.{volume.name}.zone",
            zone,
            f"the region {region} has no such zone",
            f"use one of {', '.join(known)}",
        )
        for volume in settings.volumes
        for zone in dict.fromkeys(member.zone for member in volume.members)
        if zone and zone not in known
    ]


def _zones_without_client(settings: Settings, cluster: Cluster, asked: Questions) -> list[Problem]:
    """Zones in which nothing could use a new volume. What exists in one stays there, and that is said."""
    wanted = [(volume, member) for volume in settings.volumes for member in volume.members if member.zone]
    members = [member for _, member in wanted]
    zones = {node.zone for node in cluster.nodes if node.zone}
    lonely = [member for member in members if member.zone not in zones]
    existing = stack_state.volume_zones(asked) if lonely else {}
    ids = {member: [member.volume_id, *volume.earlier_ids(member.volume_id)] for volume, member in wanted}
    stay = [member for member in lonely if member.zone in {existing.get(one) for one in ids[member]}]
    rule = f"no Nomad client is in this zone (clients are in: {', '.join(sorted(zones)) or 'none'})"
    for member in stay:
        pulumi.warn(f"volumes.{member.volume_id}.zone is {member.zone}: {rule}. {_stays(member)}.")
    for member in members:
        if member.zone in zones and member.zone not in cluster.zones:
            now = "no Nomad client of this zone is ready just now"
            pulumi.warn(f"volumes.{member.volume_id}.zone is {member.zone}: {now}. {_stays(member)}.")
    remedy = "start a client there, or put the volume where a client is"
    return [
        Problem(f"volumes.{member.volume_id}.zone", member.zone, rule, remedy)
        for member in lonely
        if member not in stay
    ]


def _stays(member: Member) -> str:
    return (
        "A volume that exists stays there with its data, and nothing can use it until a client is there: start one in "
        f"{member.zone}. To have the data in another zone, take a snapshot (`python -m operate snapshot "
        f"'{member.volume_id}'`) and give a volume of a new name snapshotId: that snapshot's id"
    )


def _unknown_role(settings: Settings, answer: "Future[dict[str, Any]]") -> list[Problem]:
    try:
        answer.result()
    except Unanswered as error:
        rule = f"the role cannot be read: {error}"
        remedy = "name the role of the Nomad clients' instance profile"
        return [Problem("clientRole", settings.client_role, rule, remedy)]
    return []
