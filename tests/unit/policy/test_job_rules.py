"""The rules that read jobs, on jobs as Nomad reads them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE

from nomad_stateful import jobspec as job_files
from nomad_stateful.resource_types import NOMAD_CSI_REGISTRATION, NOMAD_JOB
from policy.resource import Resource
from tests.unit.policy.asking import findings, reported
from tests.unit.policy.jobs import job, plugin, server
from tests.unit.program.recorder import record

pytestmark = [pytest.mark.nomad, pytest.mark.usefixtures("nomad")]

PRIVILEGED = 'constraint {\n attribute = "${attr.driver.docker.privileged.enabled}"\n value = "true"\n}'
ZONE = "${attr.platform.aws.placement.availability-zone}"


def constraint(value: str, operator: str = "=", block: str = "constraint") -> str:
    return f'{block} {{\n attribute = "{ZONE}"\n operator = "{operator}"\n value = "{value}"\n}}'


def registration(volume_id: str = "data", zone: str = "us-west-2a", **more: Any) -> Resource:
    segments = {"topology.ebs.csi.aws.com/zone": zone}
    props = {
        "volumeId": volume_id,
        "namespace": "default",
        "topologyRequest": {"required": {"topologies": [{"segments": segments}]}},
        **more,
    }
    return Resource(NOMAD_CSI_REGISTRATION, volume_id, props, urn=f"urn:{volume_id}")


def test_a_single_instance_without_canary_may_write() -> None:
    assert reported("single-writer", job(server())) == []


@pytest.mark.parametrize(
    ("jobspec", "problem"),
    [
        (server().replace("canary = 0", "canary = 1"), "has canary 1"),
        (server(group="update {\n canary = 2\n}"), "has canary 2"),
        (server().replace("count = 1", "count = 3"), "has count 3"),
        (server(job='type = "system"').replace("count = 1", ""), "runs on every client (type system)"),
    ],
)
def test_a_second_writer_is_named(jobspec: str, problem: str) -> None:
    said = reported("single-writer", job(jobspec))
    assert said == [f'job: group "db" {problem}, and claims data as single-node-writer']


def test_a_group_that_says_no_canary_overrides_its_job() -> None:
    jobspec = server(group="update {\n canary = 0\n}").replace("canary = 0", "canary = 1", 1)
    assert reported("single-writer", job(jobspec)) == []


def test_instances_with_a_volume_each_and_shared_volumes_may_be_many() -> None:
    many = server(volume="per_alloc = true").replace("count = 1", "count = 3")
    shared = server().replace("single-node-writer", "multi-node-multi-writer").replace("count = 1", "count = 3")
    assert reported("single-writer", job(many), job(shared)) == []


def test_a_pinned_image_passes() -> None:
    digest = f"mysql@sha256:{'0' * 64}"
    assert reported("pinned-image", job(server()), job(server().replace("mysql:8.4.6", digest))) == []


@pytest.mark.parametrize(
    ("image", "problem"),
    [
        ("mysql", "without a tag"),
        ("mysql:latest", "whose tag moves"),
        ("registry.example:5000/mysql", "without a tag"),
    ],
)
def test_an_image_that_is_not_pinned_is_named(image: str, problem: str) -> None:
    said = reported("pinned-image", job(server().replace("mysql:8.4.6", image)))
    assert said == [f'job: task "db": image is {image}, {problem}']


def test_a_digest_can_be_asked_for() -> None:
    said = reported("pinned-image", job(server()), requireDigest=True)
    assert said == ['job: task "db": image is mysql:8.4.6, without a digest']


def test_a_node_plugin_with_the_privileged_constraint_passes() -> None:
    assert reported("plugin-privileged", job(plugin(PRIVILEGED))) == []


@pytest.mark.parametrize("role", ["node", "monolith"])
def test_a_plugin_without_the_privileged_constraint_is_named(role: str) -> None:
    said = reported("plugin-privileged", job(plugin(role=role)))
    assert said == [f'job: task "plugin" is the {role} plugin aws-ebs0 in docker, with no constraint']


def test_a_constraint_that_asks_for_the_opposite_does_not_count() -> None:
    assert reported("plugin-privileged", job(plugin(PRIVILEGED.replace('"true"', '"false"')))) != []
    assert reported("plugin-privileged", job(plugin(constraint("us-west-2a")))) != []


def test_plugins_that_need_no_privileged_container_are_left_alone() -> None:
    raw = plugin(driver="raw_exec").replace("image", "command")
    assert reported("plugin-privileged", job(plugin(role="controller", type_="service")), job(raw)) == []


@pytest.mark.parametrize(
    "more",
    ["", constraint("us-west-2a"), constraint("^us-west-2(a|c)$", "regexp"), constraint("us-west-2b", "!=")],
)
def test_a_job_that_may_run_where_its_volume_is_passes(more: str) -> None:
    assert reported("consumer-zone", registration(), job(server(job=more))) == []


@pytest.mark.parametrize(
    ("operator", "value"),
    [
        ("=", "us-west-2b"),
        ("regexp", "^us-west-2b$"),
        ("!=", "us-west-2a"),
        ("set_contains_any", "us-west-2b,us-west-2c"),
    ],
)
def test_a_constraint_that_keeps_a_job_from_its_volume_is_named(operator: str, value: str) -> None:
    said = reported("consumer-zone", registration(), job(server(group=constraint(value, operator))))
    assert said == [f'job: group "db" has the constraint {ZONE} {operator} {value}, but data is in us-west-2a']


def test_an_affinity_for_a_zone_without_the_volume_is_named() -> None:
    said = reported("consumer-zone", registration(), job(server(group=constraint("us-west-2b", block="affinity"))))
    assert len(said) == 1
    assert "has the affinity" in said[0]
    assert (
        reported("consumer-zone", registration(), job(server(group=constraint("us-west-2a", block="affinity")))) == []
    )


def test_two_volumes_without_a_common_zone_are_named() -> None:
    other = 'volume "log" {\n type="csi"\n source="log"\n access_mode="single-node-writer"\n'
    jobspec = server(group=other + ' attachment_mode="file-system"\n}')
    apart = reported("consumer-zone", registration(), registration("log", "us-west-2b"), job(jobspec))
    assert apart == ['job: group "db" claims volumes without a common zone: data in us-west-2a, log in us-west-2b']
    assert reported("consumer-zone", registration(), registration("log"), job(jobspec)) == []


def test_each_instance_has_its_own_volume_and_zone() -> None:
    jobspec = server(job=constraint("us-west-2a"), volume="per_alloc = true").replace("count = 1", "count = 2")
    volumes = [registration("data[0]"), registration("data[1]", "us-west-2b")]
    said = reported("consumer-zone", *volumes, job(jobspec))
    assert said == [f'job: group "db" has the constraint {ZONE} = us-west-2a, but data[1] is in us-west-2b']


def test_a_volume_of_another_namespace_is_another_volume() -> None:
    elsewhere = registration(namespace="other")
    assert reported("consumer-zone", elsewhere, job(server(job=constraint("us-west-2b")))) == []


def test_a_job_that_can_be_read_is_not_mentioned() -> None:
    assert reported("job-readable", job(server())) == []


def test_a_job_with_unknown_values_is_mentioned_once_and_held_against_nobody() -> None:
    later = job(server(), volume=UNKNOWN_STRING_VALUE)
    said = reported("job-readable", later)
    assert said == [
        "job: its job file was not checked: hcl2.vars.volume will be known during the update, which checks the job then"
    ]
    for name in ("single-writer", "pinned-image", "plugin-privileged", "consumer-zone"):
        assert reported(name, later) == []


@pytest.mark.parametrize("key", ["jobspec", "hcl2"])
def test_a_job_that_is_wholly_unknown_is_mentioned_too(key: str) -> None:
    props = {"jobspec": server(), key: UNKNOWN_STRING_VALUE}
    assert len(reported("job-readable", Resource(NOMAD_JOB, "job", props))) == 1


def test_a_job_that_nomad_does_not_understand_is_mentioned_without_the_values_of_its_variables() -> None:
    jobspec = 'variable "secret" {\n type = number\n}\n' + server()
    said = reported("job-readable", job(jobspec, secret="hunter2hunter2"))
    assert len(said) == 1
    assert "hunter2" not in said[0]


def test_without_nomad_jobs_are_mentioned_and_nothing_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    asked = job(server() + "\n")
    assert reported("single-writer", asked) == []
    assert "the nomad command is not on PATH" in reported("job-readable", asked)[0]


def test_the_projects_own_jobs_keep_the_rules() -> None:
    for path in sorted(job_files.FOLDER.glob("csi-*.nomad.hcl")):
        name = path.name.removesuffix(".nomad.hcl")
        values = variables(job_files.FOLDER / f"{name}.vars.hcl")
        asked = job(path.read_text(), **values)
        assert reported("job-readable", asked) == []
        for rule in ("single-writer", "pinned-image", "plugin-privileged"):
            assert findings(rule, asked) == []


def test_a_replication_group_keeps_the_rules_and_each_of_its_volumes_is_looked_at() -> None:
    zones = ["us-west-2a", "us-west-2b", "us-west-2c"]
    made = record(
        {
            "clientRole": "nomad-client",
            "agentImage": "agent:1",
            "plugins": [{"id": "aws-ebs0"}],
            "volumes": [{"name": "data", "count": 3, "zones": zones, "sizeGib": 1}],
            "mysql": {"volume": "data", "group": {}},
        }
    )
    resources = [Resource(one.typ, name, one.inputs, stack="prod") for name, one in made.items()]
    assert {"mysql-job", "mysql-server-1-job"} <= {one.name for one in resources if one.type == NOMAD_JOB}
    for rule in ("job-readable", "single-writer", "pinned-image", "consumer-zone", "encryption-at-rest"):
        assert findings(rule, *resources) == []
    # What the engine protects, nobody has said here.
    assert findings("volume-protection", *resources) == ["protect is false in stack prod"] * 3
    volumes = [replace(one, protect=True) for one in resources]
    assert findings("volume-protection", *volumes) == []
    assert len(findings("scheduled-snapshots", *volumes)) == 3


def variables(path: Path) -> dict[str, str]:
    """The values of a file of variables, one assignment each at the start of a line."""
    found: dict[str, str] = {}
    name = ""
    for line in path.read_text().splitlines():
        if line[:1].isalpha():
            name, _, rest = (part.strip() for part in line.partition("="))
            found[name] = rest
        elif name and not line.startswith("#"):
            found[name] += "\n" + line
    return {key: value.strip() for key, value in found.items()}
