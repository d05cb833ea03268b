"""What is asked of Nomad's scheduler, and what is refused or warned of when it finds no clients."""

from concurrent.futures import Future
from typing import Any

import pulumi
import pytest

from nomad_stateful.program import plan, settings
from nomad_stateful.program.plan.model import Job
from nomad_stateful.program.prefetch import CallError
from nomad_stateful.program.preflight import placement as preflight_placement
from nomad_stateful.program.settings import Problem
from nomad_stateful.sdk import Cluster, ClusterNode
from tests.unit.program import answers

PLACED = {"jobId": "", **answers.PLACED}
ZONE = "${attr.platform.aws.placement.availability-zone}"


def config(**more: Any) -> Any:
    plugin = {"id": "aws-ebs0", "driver": "ebs", "taskDriver": "docker", "controllers": 3}
    volumes = [
        {"name": "data", "zone": "us-west-2a", "sizeGib": 1},
        {"name": "shard", "zones": ["us-west-2a", "us-west-2b"], "count": 3, "sizeGib": 1},
    ]
    base = {"clientRole": "nomad-client", "plugins": [plugin], "volumes": volumes, "mysql": {"volume": "data"}}
    return settings.parse(base | more)


def jobs(known: Any) -> list[Job]:
    return plan.of(known, "").jobs


def sharded(**more: Any) -> dict[str, Any]:
    mount = {"volume": "shard", "path": "/data", "perAlloc": True}
    return {"name": "web", "taskDriver": "exec", "command": "/bin/web", "count": 3, "mounts": [mount]} | more


def node(name: str, zone: str = "us-west-2a", **more: Any) -> ClusterNode:
    values: dict[str, Any] = {"status": "ready", "eligibility": "eligible", "datacenter": "dc1", "node_pool": "default"}
    values |= {"version": "1.11.3", "drivers": ("docker",), "cpu_mhz": 4000, "memory_mib": 3000}
    return ClusterNode(id=name, name=name, zone=zone, **(values | more))


def cluster(*nodes: ClusterNode) -> Cluster:
    return Cluster("1.11.3", (), nodes, ())


BOTH = cluster(node("a"), node("b", "us-west-2b"))


def answered(job: str, answer: Any) -> preflight_placement.PlannedJob:
    (wanted,) = [one for one in jobs(config(consumers=[sharded()])) if one.job_id == job]
    call = answers.answered(answer if isinstance(answer, Exception) else PLACED | answer)
    return preflight_placement.PlannedJob(wanted, call)


def failing(part: str, missing: int = 1, clients: int = 2, **counts: Any) -> dict[str, Any]:
    return {"part": part, "missing": missing, "clients": clients, "unfit": {}, "full": {}} | counts


@pytest.fixture(autouse=True)
def warned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    said: list[str] = []
    monkeypatch.setattr(pulumi, "warn", said.append)
    return said


def refused(
    job: str,
    answer: Any,
    known: Cluster = BOTH,
    explained: tuple[Problem, ...] = (),
    *,
    only_preview: bool = True,
) -> str:
    found = preflight_placement.problems(
        config(consumers=[sharded()]), known, [answered(job, answer)], explained, only_preview=only_preview
    )
    return "\n".join(map(str, found))


def test_every_job_is_asked_about_with_its_instances_bound_as_their_volumes_are() -> None:
    asked = {job.job_id: preflight_placement.question(job) for job in jobs(config(consumers=[sharded()]))}
    parts = {name: [(part["name"], part["count"]) for part in one["parts"]] for name, one in asked.items()}
    assert parts == {
        "plugin-aws-ebs0-controller": [("any", 3)],
        "plugin-aws-ebs0-node": [("us-west-2a", 1), ("us-west-2b", 1)],
        "mysql-server": [("us-west-2a", 1)],
        "web": [("us-west-2a", 2), ("us-west-2b", 1)],
    }
    first, *_ = asked["web"]["parts"]
    assert first["constraints"] == [{"attribute": ZONE, "operator": "=", "value": "us-west-2a"}]
    in_pool = {"attribute": "${node.pool}", "operator": "=", "value": "default"}
    assert asked["web"]["constraints"] == [in_pool]


def test_a_consumer_needs_clients_that_the_plugin_of_its_volume_may_run_on() -> None:
    fast = {"attribute": "${meta.disk}", "operator": "=", "value": "fast"}
    plugin = {"id": "aws-ebs0", "driver": "ebs", "constraints": [fast, {"operator": "distinct_hosts", "value": "true"}]}
    known = config(plugins=[plugin], placement={"nodePool": "all"}, consumers=[sharded(nodePool="gpu")])
    web = next(job for job in jobs(known) if job.job_id == "web")
    assert web.pool == "gpu"
    assert preflight_placement.question(web)["constraints"] == [fast]


def test_dumps_are_asked_about_in_the_zone_of_their_own_volume() -> None:
    volumes = [
        {"name": name, "zone": zone, "sizeGib": 1} for name, zone in (("data", "us-west-2a"), ("b", "us-west-2b"))
    ]
    known = config(volumes=volumes, mysql={"volume": "data", "backup": {"volume": "b"}})
    zones = {job.key: [part.name for part in job.parts] for job in jobs(known)}
    assert (zones["mysql.jobId"], zones["mysql.backup.jobId"]) == (["us-west-2a"], ["us-west-2b"])


def test_what_has_clients_is_not_spoken_of(warned: list[str]) -> None:
    assert refused("mysql-server", {}) == ""
    assert warned == []


def test_more_controllers_than_clients_are_refused_with_the_count() -> None:
    said = refused("plugin-aws-ebs0-controller", {"failures": [failing("any", unfit={"distinct_hosts": 2})]})
    assert said == (
        "plugins.aws-ebs0.controllers is 3: no client can run 1 of its 3 instances (job plugin-aws-ebs0-controller); "
        "2 ready clients in node pool default: 2 that have another of its instances (distinct_hosts). "
        "Start more clients, or ask for fewer instances."
    )


def test_each_reason_is_counted_in_plain_words() -> None:
    unfit = {"missing drivers": 1, f"{ZONE} = us-west-2a": 1, "${meta.disk} = fast": 1, "computed class ineligible": 2}
    said = refused("mysql-server", {"failures": [failing("us-west-2a", clients=5, unfit=unfit)]})
    assert said.startswith(
        "mysql.jobId is mysql-server: no client in us-west-2a can run it (job mysql-server); 5 ready"
    )
    for words in ("1 not in us-west-2a", "1 without a healthy task driver docker", "1 without ${meta.disk} = fast"):
        assert words in said
    assert "2 like these. " in said


@pytest.mark.parametrize(
    ("constraint", "remedy"),
    [
        ("${attr.driver.docker.privileged.enabled} = true", "allow_privileged = true"),
        ("${attr.driver.docker.volumes.enabled} = true", "volumes { enabled = true }"),
    ],
)
def test_what_docker_has_to_allow_comes_with_the_line_of_the_clients_configuration(
    constraint: str, remedy: str
) -> None:
    said = refused("plugin-aws-ebs0-node", {"failures": [failing("us-west-2b", unfit={constraint: 1})]})
    assert "no client in us-west-2b can run it" in said
    assert remedy in said


def test_a_zone_for_which_only_another_ones_reasons_hold_is_not_told_of() -> None:
    first, second = failing("us-west-2a", unfit={"missing drivers": 2}), failing("us-west-2b")
    second["unfit"] = {"computed class ineligible": 2}
    said = refused("plugin-aws-ebs0-node", {"failures": [first, second]})
    assert said.startswith(
        "plugins.aws-ebs0.id is aws-ebs0: no client in us-west-2a can run it (job plugin-aws-ebs0-node)"
    )
    assert "us-west-2b" not in said


def test_a_client_that_is_away_is_named_with_its_state_and_how_it_comes_back(warned: list[str]) -> None:
    away = cluster(node("a", eligibility="ineligible"), node("b", "us-west-2b"), node("c", status="down"))
    answer = {"failures": [failing("us-west-2a", clients=1, unfit={f"{ZONE} = us-west-2a": 1})]}
    said = refused("mysql-server", answer, away)
    assert "1 not in us-west-2a; a is ineligible, c is down. Bring a, c back" in said
    # The same for what is registered: it runs, or waits for that client, and an update changes nothing about that.
    assert refused("mysql-server", answer | {"registeredToo": True}, away) == ""
    assert warned[0].startswith("mysql.jobId is mysql-server: just now no client in us-west-2a can run it")
    assert "a is ineligible, c is down" in warned[0]


def test_what_clients_call_themselves_is_text_in_a_warning(warned: list[str]) -> None:
    away = cluster(node("a\x1b[2K", eligibility="ineligible"), node("b", "us-west-2b"))
    answer = {"failures": [failing("us-west-2a", clients=1)], "registeredToo": True}
    assert refused("mysql-server", answer, away) == ""
    assert r"a\x1b[2K is ineligible" in warned[0]


def test_a_node_plugin_is_excused_only_where_a_client_is_away(warned: list[str]) -> None:
    answer = {"failures": [failing("us-west-2b", unfit={"missing drivers": 2})], "registeredToo": True}
    assert "no client in us-west-2b" in refused("plugin-aws-ebs0-node", answer)
    away = cluster(node("a"), node("b", "us-west-2b", status="down"))
    assert refused("plugin-aws-ebs0-node", answer, away) == ""
    assert len(warned) == 1


def test_no_room_just_now_is_a_warning_and_more_than_any_client_has_is_refused(warned: list[str]) -> None:
    answer = {"failures": [failing("us-west-2a", full={"memory": 1}, unfit={f"{ZONE} = us-west-2a": 1})]}
    assert refused("mysql-server", answer) == ""
    assert "1 without room (memory)" in warned[0]
    small = cluster(node("a", memory_mib=300), node("b", "us-west-2b", memory_mib=9000))
    said = refused("mysql-server", answer, small)
    assert said.startswith("mysql.memoryMib is ")
    assert "the largest client in us-west-2a has 300 MiB for jobs. Ask for less, or start a larger client." in said


def test_a_token_that_may_only_read_is_enough_for_a_preview_and_refused_before_an_update(warned: list[str]) -> None:
    answer = {"notChecked": 'the token\'s policy needs namespace "default" { capabilities = ["submit-job"] }'}
    assert refused("web", answer) == ""
    assert "was not checked" in warned[0]
    said = refused("web", answer, only_preview=False)
    assert said.startswith("placement.namespace is default: ")
    assert "submit-job" in said


def test_a_token_without_any_right_in_the_namespace_is_refused_at_preview() -> None:
    said = refused("web", CallError("Unexpected response code: 403 (Permission denied): the token's policy needs x"))
    assert said.startswith("placement.namespace is default: Unexpected response code: 403")


def test_what_nomad_refuses_is_put_down_to_its_setting() -> None:
    said = refused("web", {"refused": 'job "web" is in nonexistent namespace "default"'})
    assert said.startswith("placement.namespace is default: Nomad has no such namespace. Make it with `nomad namespace")
    assert "consumers.web.count is 3: Nomad refuses the job web: x. " in refused("web", {"refused": "x"})


def test_what_another_problem_explains_is_not_told_twice() -> None:
    answer = {"failures": [failing("us-west-2b", unfit={f"{ZONE} = us-west-2b": 2})]}
    assert refused("web", answer, cluster(node("a"))) == ""
    gone = {"refused": 'job "web" is in nonexistent node pool "default"'}
    assert refused("web", gone, explained=(Problem("placement.nodePool", "default", "", ""),)) == ""


def unknown(known: Cluster, **more: Any) -> list[str]:
    return [str(problem) for problem in preflight_placement.unknown_pools(config(**more), known)]


def test_a_node_pool_without_clients_is_named_with_those_that_have_some() -> None:
    assert unknown(BOTH) == []
    assert unknown(BOTH, placement={"nodePool": "all"}) == []
    (said,) = unknown(BOTH, placement={"nodePool": "gpu"})
    assert said.startswith("placement.nodePool is gpu: no Nomad client is in this node pool (clients are in: default).")
    (said,) = unknown(BOTH, consumers=[sharded(nodePool="gpu")])
    assert said.startswith("consumers.web.nodePool is gpu: ")


def test_datacenters_without_clients_are_named_with_those_that_have_some() -> None:
    assert unknown(BOTH, placement={"datacenters": ["dc9", "d*"]}) == []
    (said,) = unknown(BOTH, placement={"datacenters": ["dc9", "eu*"]})
    assert said.startswith(
        "placement.datacenters is dc9, eu*: no client of node pool default is in these (its clients are"
    )


class Scheduler:
    """Counts the jobs that it is asked about, by id."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self.jobs: list[str] = []
        self.answer = answer

    def call(self, _function: str, args: dict[str, Any]) -> "Future[dict[str, Any]]":
        self.jobs += [line.split('"')[1] for line in args["jobspec"].splitlines() if line.startswith("  id ")]
        return answers.answered(PLACED | self.answer)


@pytest.mark.parametrize(
    ("answer", "jobs"),
    [({}, ["small0", "large"]), ({"refused": "x"}, ["small0", "large", "small1", "small2"])],
)
def test_consumers_that_ask_the_same_are_asked_about_once_unless_something_is_wrong(
    answer: dict[str, Any], jobs: list[str]
) -> None:
    volumes = [{"name": name, "zone": "us-west-2a", "sizeGib": 1} for name in ("v0", "v1", "v2", "v3")]
    names = {"small0": 64, "small1": 64, "small2": 64, "large": 640}
    consumers = [
        sharded(name=name, memoryMib=memory, count=1, mounts=[{"volume": f"v{index}", "path": "/data"}])
        for index, (name, memory) in enumerate(names.items())
    ]
    known = settings.parse(
        {
            "clientRole": "nomad-client",
            "plugins": [{"id": "aws-ebs0", "driver": "ebs"}],
            "volumes": volumes,
            "consumers": consumers,
        }
    )
    scheduler: Any = Scheduler(answer)
    planned = preflight_placement.ask(plan.of(known, ""), scheduler)
    found = preflight_placement.problems(known, BOTH, planned, (), only_preview=True)
    assert [job for job in scheduler.jobs if not job.startswith("plugin-")] == jobs
    assert {problem.key for problem in found if "consumers" in problem.key} == (
        {f"consumers.{name}.count" for name in names} if answer else set()
    )
