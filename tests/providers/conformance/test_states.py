"""Either nomad plugin goes on with what the other one left in the state."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nomad_stateful.plugin_server.values import Props
from tests.fake_nomad.jobs import DEPLOYMENTS
from tests.providers.conformance.life import checked, visible
from tests.providers.conformance.nomad_subjects import READER, WRITER
from tests.providers.conformance.subjects import TypeSubject
from tests.providers.conformance.tables import TYPES
from tests.providers.conformance.worlds import EMBEDDED, OFFICIAL, World, environment
from tests.providers.harness import Failed, Resource, plugin_process

HCL = """
variable "command" {
  default = "true"
}
job "j" {
  type = "service"
  meta { owner = "tests" }
  constraint {
    attribute = "${attr.kernel.name}"
    value     = "linux"
  }
  group "main" {
    count = 2
    meta { role = "db" }
    update {
      max_parallel     = 1
      min_healthy_time = "5s"
    }
    volume "data" {
      type            = "csi"
      source          = "v"
      access_mode     = "single-node-writer"
      attachment_mode = "file-system"
    }
    task "main" {
      driver = "raw_exec"
      meta { a = "b" }
      config { command = var.command }
      volume_mount {
        volume      = "data"
        destination = "/data"
      }
      template {
        data        = "x"
        destination = "local/x"
      }
    }
  }
}
"""
PERIODIC = """
job "j" {
  type = "batch"
  periodic {
    crons            = ["@daily"]
    prohibit_overlap = true
    time_zone        = "UTC"
  }
  group "main" {
    task "main" {
      driver = "raw_exec"
      config { command = "true" }
    }
  }
}
"""
REGISTRATION = "nomad:index/csiVolumeRegistration:CsiVolumeRegistration"
VOLUME = "nomad:index/csiVolume:CsiVolume"
JOB = "nomad:index/job:Job"
# What a resource of the suite is given besides, or (None) is not given.
VARIANTS: dict[str, tuple[str, Props]] = {
    "job in JSON": (JOB, {}),
    "job in HCL": (JOB, {"json": None, "jobspec": HCL}),
    "job with variables": (JOB, {"json": None, "jobspec": HCL, "hcl2": {"vars": {"command": "false"}}}),
    "job with files": (JOB, {"json": None, "jobspec": HCL, "hcl2": {"allowFs": True}}),
    "periodic job": (JOB, {"json": None, "jobspec": PERIODIC}),
    "job that is waited for": (JOB, {"detach": False}),
    "job with flags": (JOB, {"purgeOnDestroy": True, "deregisterOnIdChange": False, "rerunIfDead": True}),
    "registration": (REGISTRATION, {}),
    "registration with flags": (REGISTRATION, {"mountOptions": {"fsType": "xfs", "mountFlags": ["noatime"]}}),
    "registration without options": (REGISTRATION, {"mountOptions": None, "context": None, "secrets": None}),
    "registration without topology": (REGISTRATION, {"topologyRequest": None}),
    "registration of two modes": (REGISTRATION, {"capabilities": [WRITER, READER]}),
    "registration with a size": (REGISTRATION, {"capacityMin": "1GiB"}),
    "registration with parameters": (REGISTRATION, {"parameters": {"type": "gp3"}, "deregisterOnDestroy": False}),
    "volume": (VOLUME, {}),
    "volume with a size": (VOLUME, {"capacityMin": "1GiB", "parameters": {"type": "gp3"}}),
    "variable": ("nomad:index/variable:Variable", {}),
}
# Nomad's own counters, which say when, not what.
WHEN = {"modifyIndex", "createIndex", "submitTime"}
Sides = dict[str, World]


@pytest.fixture(scope="module")
def plugins(worlds: Callable[[str], World], programs: Callable[[str], Path]) -> Iterator[Sides]:
    """Both plugins on one Nomad."""
    theirs = worlds(OFFICIAL + "nomad")
    with contextlib.ExitStack() as stack:
        ours = stack.enter_context(plugin_process(programs("nomad"), environment("nomad", "", theirs.nomad.address)))
        ours.configure({"address": theirs.nomad.address})
        yield {OFFICIAL: theirs, EMBEDDED: World(ours, None, theirs.nomad, "")}


@pytest.fixture
def sides(plugins: Sides) -> Sides:
    """Both, with the Nomad empty."""
    plugins[OFFICIAL].reset()
    return plugins


def subject_of(variant: str) -> TypeSubject:
    """Returns the subject that a variant varies."""
    return next(subject for subject in TYPES if subject.token == VARIANTS[variant][0])


def given(world: World, variant: str) -> Props:
    """Returns what the program gives."""
    merged = subject_of(variant).inputs(world) | VARIANTS[variant][1]
    return {name: value for name, value in merged.items() if value is not None}


def changes(world: World, subject: TypeSubject, was: Resource, inputs: Props, program: Props) -> dict[str, str]:
    """Returns what a plugin would change where a program gives the same as before."""
    news = checked(world, subject, program, inputs)
    diff = world.plugin.diff(subject.token, was.id, was.outputs.props, inputs, news)
    assert diff.changed == bool(diff.detailed)
    return diff.detailed


each_way = pytest.mark.parametrize(
    ("writer", "reader"), [(EMBEDDED, OFFICIAL), (OFFICIAL, EMBEDDED)], ids=["ours to official", "official to ours"]
)
each_variant = pytest.mark.parametrize("variant", VARIANTS)


@each_way
@each_variant
def test_a_state_of_one_is_unchanged_under_the_other(sides: Sides, writer: str, reader: str, variant: str) -> None:
    subject, wrote, reads = subject_of(variant), sides[writer], sides[reader]
    program = given(wrote, variant)
    inputs = checked(wrote, subject, program)
    made = wrote.plugin.create(subject.token, inputs)
    assert changes(reads, subject, made, inputs, program) == {}, "as it was made"

    found = wrote.plugin.found(subject.token, made.id, inputs, made.outputs.props)
    assert changes(reads, subject, found, found.inputs.props, program) == {}, "after the one refreshed it"

    refreshed = reads.plugin.found(subject.token, made.id, inputs, made.outputs.props)
    assert refreshed.id == made.id
    for name, world in (("the other", reads), ("the one again", wrote)):
        assert changes(world, subject, refreshed, refreshed.inputs.props, program) == {}, f"after a refresh, {name}"


@each_way
@each_variant
def test_what_one_made_the_other_deletes(sides: Sides, writer: str, reader: str, variant: str) -> None:
    subject, wrote, reads = subject_of(variant), sides[writer], sides[reader]
    made = wrote.plugin.create(subject.token, checked(wrote, subject, given(wrote, variant)))
    before = dict(wrote.nomad.records)
    reads.plugin.delete(subject.token, made.id, made.outputs.props)
    keeps = made.outputs.props.get("deregisterOnDestroy") is False
    assert (wrote.nomad.records == before) == keeps


@each_way
def test_a_job_whose_first_deployment_failed_is_updated_by_the_other(sides: Sides, writer: str, reader: str) -> None:
    variant = "job that is waited for"
    subject, wrote, reads = subject_of(variant), sides[writer], sides[reader]
    wrote.nomad.put(DEPLOYMENTS, "failed")
    program = given(wrote, variant)
    inputs = checked(wrote, subject, program)
    with pytest.raises(Failed, match="terminated with status 'failed'") as failed:
        wrote.plugin.create(subject.token, inputs)
    kept = failed.value.partial
    assert kept is not None
    # The engine updates what failed in any case; it may not become a replacement.
    diff = reads.plugin.diff(subject.token, kept.id, kept.outputs, inputs, checked(reads, subject, program, inputs))
    assert diff.replaces == []

    wrote.nomad.put(DEPLOYMENTS, "successful")
    updated = reads.plugin.update(subject.token, kept.id, kept.outputs, inputs, inputs)
    assert updated["deploymentStatus"] == "successful"
    for world in sides.values():
        assert changes(world, subject, updated, inputs, program) == {}


@each_variant
def test_both_keep_the_same(sides: Sides, variant: str) -> None:
    subject = subject_of(variant)
    kept: list[list[Props]] = []
    for world in sides.values():
        world.reset()
        inputs = checked(world, subject, given(world, variant))
        made = world.plugin.create(subject.token, inputs)
        found = world.plugin.found(subject.token, made.id, inputs, made.outputs.props)
        outputs = [visible(one.outputs.props) for one in (made, found)]
        kept.append([visible(inputs), *({k: v for k, v in one.items() if k not in WHEN | {"id"}} for one in outputs)])
    for what, theirs, ours in zip(("inputs", "outputs", "after a refresh"), *kept, strict=True):
        names = sorted({*theirs, *ours})
        unlike = {name: (theirs.get(name), ours.get(name)) for name in names if theirs.get(name) != ours.get(name)}
        assert unlike == {}, f"{what}: official, ours"
