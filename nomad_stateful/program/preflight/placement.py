"""Whether Nomad finds clients for the jobs that the settings ask for: its own scheduler plans them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

import pulumi

from nomad_stateful import jobspec
from nomad_stateful.nomad.fingerprint import ZONE_REFERENCE
from nomad_stateful.program.plan.model import Job, Part, Plan
from nomad_stateful.program.prefetch import CallError, Prefetch
from nomad_stateful.program.settings import Problem, Settings
from nomad_stateful.sdk import Cluster, ClusterNode
from nomad_stateful.visible import visible

_GET_PLACEMENT = "nomad-csi:index:getPlacement"
Answer = dict[str, Any]
_PRIVILEGED = "${attr.driver.docker.privileged.enabled} = true"
_FOLDERS = "${attr.driver.docker.volumes.enabled} = true"
_DISTINCT = "distinct_hosts"
# Nomad judges clients that are alike together.
_ALIKE = "computed class ineligible"
_WORDS = {
    _PRIVILEGED: "whose docker driver allows no privileged containers",
    _FOLDERS: "whose docker driver lets containers mount none of the client's folders",
    _DISTINCT: "that have another of its instances (distinct_hosts)",
    _ALIKE: "like these",
}
_IN_DOCKER = 'in the client\'s plugin "docker" block and restart the client'
_REMEDIES = {
    _PRIVILEGED: f"set allow_privileged = true {_IN_DOCKER}",
    _FOLDERS: f"set volumes {{ enabled = true }} {_IN_DOCKER}",
    _DISTINCT: "start more clients, or ask for fewer instances",
}


@dataclass(frozen=True)
class PlannedJob:
    """A job, and the scheduler's answer to a plan of it."""

    job: Job
    answer: "Future[Answer]"
    own: "Callable[[], Future[Answer]] | None" = None
    """Plans the job itself, where the answer is that for one like it."""

    def result(self) -> Answer:
        """Returns the answer; that for another job only as long as nothing is wrong with it. Raises CallError."""
        answer = self.answer.result()
        is_wrong = answer["failures"] or answer["refused"]
        return self.own().result() if is_wrong and self.own is not None else answer


def ask(plan: Plan, prefetch: Prefetch) -> list[PlannedJob]:
    """Has the jobs planned in the background; of jobs that ask the same of a client, one."""
    found: list[PlannedJob] = []
    first: dict[str, Future[Answer]] = {}
    for job in plan.jobs:
        own, alike = partial(_ask, prefetch, job), _alike(job)
        if alike in first:
            found.append(PlannedJob(job, first[alike], own))
        else:
            found.append(PlannedJob(job, own()))
            first[alike] = found[-1].answer
    return found


def _alike(job: Job) -> str:
    """Returns the same for jobs that a client takes or does not take together; the id of a job like no other."""
    if job.spec != "container":
        return job.job_id
    job_block = {key: value for key, value in job.variables["job"].items() if key != "id"}
    asked = (job_block, job.variables["ports"], job.variables["services"], job.parts, job.constraints)
    return repr((*asked, job.driver, job.cpu_mhz, job.memory_mib))


def _ask(prefetch: Prefetch, job: Job) -> "Future[Answer]":
    return prefetch.call(_GET_PLACEMENT, question(job))


def question(job: Job) -> dict[str, Any]:
    """Returns the arguments of getPlacement."""
    return {
        "jobspec": jobspec.spec(job.spec, job.variables),
        "variables": "\n".join(f"{name} = {jobspec.hcl_literal(value)}" for name, value in job.variables.items()),
        "namespace": job.namespace,
        "constraints": job.constraints,
        "parts": [{"name": part.name, "count": part.count, "constraints": part.constraints} for part in job.parts],
    }


def unknown_pools(settings: Settings, cluster: Cluster) -> list[Problem]:
    """Returns the node pools without any client, and datacenters without any of the pool's."""
    placement = settings.placement
    pools = {placement.node_pool: "placement.nodePool"}
    for consumer in settings.consumers:
        pools.setdefault(consumer.node_pool or placement.node_pool, f"consumers.{consumer.name}.nodePool")
    found = (_unknown_pool(key, pool, placement.datacenters, cluster) for pool, key in pools.items())
    return [problem for problem in found if problem is not None]


def _unknown_pool(key: str, pool: str, datacenters: Sequence[str], cluster: Cluster) -> Problem | None:
    inside = [node for node in cluster.nodes if pool in ("all", node.node_pool)]
    if not inside:
        rule = f"no Nomad client is in this node pool (clients are in: {_listed(n.node_pool for n in cluster.nodes)})"
        return Problem(key, pool, rule, "name a pool that has clients, or start clients with it as their node_pool")
    if not any(may_run(pool, datacenters, node) for node in inside):
        rule = (
            f"no client of node pool {pool} is in these (its clients are in: {_listed(n.datacenter for n in inside)})"
        )
        return Problem("placement.datacenters", ", ".join(datacenters), rule, "name datacenters that have clients")
    return None


def may_run(pool: str, datacenters: Sequence[str], node: ClusterNode) -> bool:
    """Returns whether a client is in a node pool and in one of the datacenters, which may hold `*`."""
    return pool in ("all", node.node_pool) and any(fnmatchcase(node.datacenter, pattern) for pattern in datacenters)


def problems(
    settings: Settings,
    cluster: Cluster,
    planned: Sequence[PlannedJob],
    explained: Sequence[Problem],
    *,
    only_preview: bool,
) -> list[Problem]:
    """Returns what is not placed, unless other problems explain it; warns of what may pass."""
    known = {(problem.key, problem.value) for problem in explained}
    pools = {value for key, value in known if key.endswith(".nodePool")}
    zones = {node.zone for node in cluster.nodes}
    if any(key == "placement.datacenters" for key, _ in known):
        return []
    found: list[Problem] = []
    unchecked: dict[str, None] = {}
    for one in planned:
        if one.job.pool in pools:
            continue
        try:
            answer = one.result()
        except CallError as error:
            found.append(_unreadable(settings, one.job, str(error)))
            continue
        if answer["notChecked"]:
            unchecked[answer["notChecked"]] = None
        elif answer["refused"]:
            found.append(_refused(settings, one.job, answer["refused"]))
        else:
            found += _unplaced(settings, cluster, one.job, answer, zones)
    return [*dict.fromkeys(found), *_unchecked(settings, list(unchecked), only_preview=only_preview)]


def _unreadable(settings: Settings, job: Job, said: str) -> Problem:
    if "403" in said:
        return forbidden(settings, said)
    return Problem(job.key, job.value, f"Nomad cannot read the job {job.job_id}: {said}", "correct the setting")


def _unchecked(settings: Settings, reasons: Sequence[str], *, only_preview: bool) -> list[Problem]:
    """Returns what the token lacks, of which a preview only warns; an update would fail at its first job."""
    if reasons and only_preview:
        pulumi.warn(visible(f"Whether Nomad has clients for the jobs was not checked: {reasons[0]}"))
        return []
    return [forbidden(settings, reason) for reason in reasons[:1]]


def forbidden(settings: Settings, said: str) -> Problem:
    """Returns what the token may not do in the namespace."""
    remedy = "give the token what it lacks, or name the namespace that it is for"
    return Problem("placement.namespace", settings.placement.namespace, said, remedy)


def _refused(settings: Settings, job: Job, said: str) -> Problem:
    namespace = settings.placement.namespace
    if "nonexistent namespace" in said:
        remedy = f"make it with `nomad namespace apply {namespace}`, or name another"
        return Problem("placement.namespace", namespace, "Nomad has no such namespace", remedy)
    return Problem(job.key, job.value, f"Nomad refuses the job {job.job_id}: {said}", "correct what it names")


def _unplaced(settings: Settings, cluster: Cluster, job: Job, answer: Answer, zones: set[str]) -> Iterator[Problem]:
    parts = {part.name: part for part in job.parts}
    for failure in answer["failures"]:
        part = parts[failure["part"]]
        # Of zones without any client preflight says what becomes of their volumes.
        if not zones.issuperset(part.zones) or (len(answer["failures"]) > 1 and _is_like_another(failure)):
            continue
        nodes = _candidates(settings, cluster, job, part)
        too_large = list(_too_large(job, part, nodes))
        away = [node for node in nodes if node.status != "ready" or node.eligibility != "eligible"]
        # Nomad leaves a job that runs alone, so what is not the change's fault must not stop the rest of the update. Of
        # a system job it does not say where it ran before.
        excused = answer["registeredToo"] and (away or not job.on_every_client)
        if too_large and not excused:
            yield from too_large
            continue
        rule = _rule(job, part, failure, away)
        # What may pass: a client that is away, or has no room just now.
        if failure["full"] or excused:
            pulumi.warn(visible(f"{job.key} is {job.value}: just now {rule}."))
        else:
            yield Problem(job.key, job.value, rule, _remedy(failure, away))


def _candidates(settings: Settings, cluster: Cluster, job: Job, part: Part) -> list[ClusterNode]:
    return [
        node
        for node in cluster.nodes
        if may_run(job.pool, settings.placement.datacenters, node) and all(node.zone == zone for zone in part.zones)
    ]


def _too_large(job: Job, part: Part, nodes: Sequence[ClusterNode]) -> Iterator[Problem]:
    """Yields what no client has even when it is empty."""
    sizes: list[tuple[str, str, int, Callable[[ClusterNode], int]]] = [
        ("cpuMhz", "MHz", job.cpu_mhz, lambda node: node.cpu_mhz),
        ("memoryMib", "MiB", job.memory_mib, lambda node: node.memory_mib),
    ]
    for name, unit, wanted, size in sizes:
        largest = max((size(node) for node in nodes), default=0)
        if 0 < largest < wanted:
            rule = f"the largest client{part.where} has {largest} {unit} for jobs"
            yield Problem(f"{job.section}.{name}", str(wanted), rule, "ask for less, or start a larger client")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted({name for name in names if name})) or "none"


def _is_like_another(failure: Mapping[str, Any]) -> bool:
    """Returns whether nothing is said of a part but that another one's reasons hold for it."""
    return set(failure["unfit"]) == {_ALIKE} and not failure["full"]


def _rule(job: Job, part: Part, failure: Mapping[str, Any], away: Sequence[ClusterNode]) -> str:
    """Returns why no client can run a part of a job."""
    count, missing, clients = part.count, int(failure["missing"]), int(failure["clients"])
    which = "it" if count == 1 else f"{missing} of its {count} instances"
    unfit = sorted(failure["unfit"].items(), key=lambda item: (item[0] == _ALIKE, item[0]))
    counted = [f"{int(number)} {_unfit(text, job)}" for text, number in unfit]
    counted += [f"{int(number)} without room ({text})" for text, number in sorted(failure["full"].items())]
    looked_at = f"{clients} ready client{'' if clients == 1 else 's'} in node pool {job.pool}: "
    found = looked_at + ", ".join(counted) if counted else f"none is ready and eligible in node pool {job.pool}"
    states = ", ".join(f"{node.name} is {_state(node)}" for node in away)
    return f"no client{part.where} can run {which} (job {job.job_id}); {found}" + (f"; {states}" if states else "")


def _unfit(constraint: str, job: Job) -> str:
    if constraint == "missing drivers":
        return f"without a healthy task driver {job.driver}"
    attribute, _, value = constraint.partition(" = ")
    if attribute == ZONE_REFERENCE:
        return f"not in {value}"
    return _WORDS.get(constraint, f"without {constraint}")


def _state(node: ClusterNode) -> str:
    return node.eligibility if node.status == "ready" else node.status


def _remedy(failure: Mapping[str, Any], away: Sequence[ClusterNode]) -> str:
    found = [remedy for constraint, remedy in _REMEDIES.items() if constraint in failure["unfit"]]
    if away:
        names = ", ".join(node.name for node in away)
        found.append(f"bring {names} back (`nomad node eligibility -enable` where it is ineligible)")
    return "; or ".join(found) or "start a client that has what is missing, or ask for less"
