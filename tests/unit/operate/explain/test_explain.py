"""Why a job or volume is pending or stuck: each kind, from what Nomad and EC2 say of it, with the next command."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nomad_stateful.ebs.volumes import Attachment, Volume
from nomad_stateful.operate.doctor.facts import Facts, Sources
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.explain import command, jobs
from nomad_stateful.operate.explain.command import StuckError
from nomad_stateful.operate.explain.reason import Reason, Scene
from tests.unit.operate.doctor.world import VOLUME, World, node

HOLDER = "8f3c2a1b-0000-0000-0000-000000000000"
WAITER = "11aa22bb-0000-0000-0000-000000000000"


class Pending(World):
    """A job `db` that asks for the volume `mysql` in us-west-2a, and does not run."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes.append(node("client-3", "us-west-2b", "i-3"))
        self.nomad["plugin/csi/aws-ebs0"]["Nodes"]["node-client-3"] = {"Healthy": True}
        self.nomad["job/db"] = {
            "ID": "db",
            "Type": "service",
            "TaskGroups": [{"Count": 1, "Volumes": {"data": {"Type": "csi", "Source": "mysql"}}, "Tasks": []}],
        }
        self.nomad["jobs"] = [{"ID": "db"}]
        self.nomad["volume/csi/mysql"] = {
            "ID": "mysql",
            "ExternalID": VOLUME,
            "PluginID": "aws-ebs0",
            "Topologies": [{"Segments": {"topology.ebs.csi.aws.com/zone": "us-west-2a"}}],
        }

    def claim(self, job: str = "old", status: str = "running", desired: str = "run", on: str = "node-client-1") -> None:
        stub = {"ID": HOLDER, "JobID": job, "NodeID": on, "ClientStatus": status, "DesiredStatus": desired}
        self.nomad["volume/csi/mysql"] |= {"Allocations": [stub], "WriteAllocs": {HOLDER: None}}
        self.nomad[f"job/{job}"] = self.nomad.get(f"job/{job}") or {"ID": job}
        self.ebs[VOLUME] = Volume(VOLUME, "in-use", [Attachment("i-1", "/dev/xvdaa", "attached")])

    def filtered(self, **metrics: Any) -> None:
        """What the scheduler counted, on an evaluation that is blocked."""
        one = {
            "ID": "e",
            "Status": "blocked",
            "CreateIndex": 9,
            "FailedTGAllocs": {"g": {"NodesEvaluated": 3, **metrics}},
        }
        self.nomad["job/db/evaluations"] = [one]

    def allocation(self, *events: tuple[str, str], status: str = "pending", **more: Any) -> None:
        states = {"db": {"State": "dead", "Events": [{"Type": kind, "DisplayMessage": said} for kind, said in events]}}
        one = {"ID": WAITER, "NodeName": "client-2", "DesiredStatus": "run", "ClientStatus": status, "CreateIndex": 7}
        self.nomad["job/db/allocations"] = [{**one, "TaskStates": states if events else None, **more}]

    def reasons(self, name: str = "db") -> list[Reason]:
        return command.reasons(self.facts(), name)[1]


Cause = Callable[[Pending], None]
KINDS: list[Any] = []


def kind(what: str, next_: str) -> Callable[[Cause], Cause]:
    """Has a cause tested: what is told of it, and the next command."""

    def keep(cause: Cause) -> Cause:
        KINDS.append(pytest.param(cause, what, next_, id=cause.__name__))
        return cause

    return keep


@kind("Nomad has no job db in namespace default", "pulumi up --refresh")
def purged(world: Pending) -> None:
    world.nomad["job/db"] = None
    world.resources.append({"type": "nomad:index/job:Job", "id": "db"})


@kind("job db is stopped", "pulumi up --refresh")
def stopped(world: Pending) -> None:
    world.nomad["job/db"]["Stop"] = True


@kind("volume mysql is in use: allocation 8f3c2a1b of job old on node-cli (running)", "nomad job stop old")
def claimed(world: Pending) -> None:
    world.filtered(ConstraintFiltered={"CSI volume mysql has exhausted its available writer claims": 2})
    world.claim()


@kind("client client-1 (node-cli) is down; its instance i-1 is running", "nomad-stateful recover")
def claimed_by_a_lost_client(world: Pending) -> None:
    world.filtered(ConstraintFiltered={"CSI volume mysql has exhausted its available writer claims": 2})
    world.claim(status="lost", desired="stop")
    world.nodes[0]["Status"] = "down"


@kind("volume mysql is not registered in namespace default (it is in namespace prod)", "pulumi up --refresh")
def unregistered(world: Pending) -> None:
    world.filtered(ConstraintFiltered={"missing CSI Volume mysql": 3})
    world.nomad["volumes"] = [{"ID": "mysql", "Namespace": "prod"}]
    world.nomad["volume/csi/mysql"] = None


@kind("CSI plugin aws-ebs0 does not run on client client-1", "nomad plugin status -verbose aws-ebs0")
def no_node_plugin(world: Pending) -> None:
    world.filtered(ConstraintFiltered={"CSI plugin aws-ebs0 is missing from client client-1": 2})


@kind("is unhealthy on client node-client-1 (failed fingerprint)", "nomad alloc logs -stderr f77f206a")
def sick_node_plugin(world: Pending) -> None:
    world.filtered(ConstraintFiltered={"CSI plugin aws-ebs0 is unhealthy on client node-client-1": 2})
    said = {"Healthy": False, "HealthDescription": "failed fingerprint", "AllocID": "f77f206a-7527"}
    world.nomad["plugin/csi/aws-ebs0"]["Nodes"]["node-client-1"] = said


@kind("client client-1 has the most volumes of CSI plugin aws-ebs0", "nomad-stateful doctor")
def full_client(world: Pending) -> None:
    said = "CSI plugin aws-ebs0 has the maximum number of volumes on client client-1"
    world.filtered(ConstraintFiltered={said: 2, "did not meet topology requirement": 1})


@kind(
    "volume mysql is in us-west-2a, and no client there can take it: client-1 is draining; client-2 is down",
    "nomad node eligibility",
)
def drained_zone(world: Pending) -> None:
    world.filtered(ConstraintFiltered={"did not meet topology requirement": 1}, NodesEvaluated=1)
    world.nodes[0] |= {"SchedulingEligibility": "ineligible", "DrainStrategy": {"Deadline": 1}}
    world.nodes[1]["Status"] = "down"


@kind("the job is bound to us-west-2b, and its volume mysql is in us-west-2a", "bind the job to us-west-2a")
def two_zones(world: Pending) -> None:
    zone = "${attr.platform.aws.placement.availability-zone} = us-west-2b"
    world.filtered(ConstraintFiltered={zone: 2, "did not meet topology requirement": 1})


@kind("the job is bound to us-west-2z, and there is no client in that zone", "start a client there")
def unknown_zone(world: Pending) -> None:
    world.filtered(ConstraintFiltered={"${attr.platform.aws.placement.availability-zone} = us-west-2z": 3})


@kind(
    "volume mysql is not schedulable: 0 of 2 controllers and 3 of 3 nodes of CSI plugin aws-ebs0", "nomad plugin status"
)
def not_schedulable(world: Pending) -> None:
    world.filtered(ConstraintFiltered={"CSI volume mysql is unschedulable or is read-only": 3})
    world.nomad["volume/csi/mysql"] |= {
        "ControllersExpected": 2,
        "ControllersHealthy": 0,
        "NodesExpected": 3,
        "NodesHealthy": 3,
    }


@kind("no client has the job's task driver, healthy", "nomad-stateful doctor")
def no_driver(world: Pending) -> None:
    world.filtered(ConstraintFiltered={"missing drivers": 3})


@kind("constraint: ${node.class} = db", "nomad node status -verbose")
def other_constraint(world: Pending) -> None:
    world.filtered(ConstraintFiltered={"${node.class} = db": 3, "computed class ineligible": 2})


@kind("not enough memory is left on the only client able to run it: it asks for 999999 MiB", "nomad node status -stats")
def no_memory(world: Pending) -> None:
    asked = {"db": {"MemoryMB": 999999, "CPU": 0}}
    world.filtered(DimensionExhausted={"memory": 1}, ResourcesExhausted=asked, NodesExhausted=1)


@kind("a port that the job reserves is in use on 2 clients", "nomad node status")
def port_in_use(world: Pending) -> None:
    world.filtered(DimensionExhausted={"network: reserved port collision db=3306": 2})


@kind("no client of node pool databases and the job's datacenters is ready", "nomad node status")
def no_client(world: Pending) -> None:
    world.filtered(NodesEvaluated=0, NodePool="databases")


@kind("already published on another node", "nomad-stateful recover")
def attached_elsewhere(world: Pending) -> None:
    said = 'failed to setup alloc: pre-run hook "csi_hook" failed: volume is already published on another node'
    world.allocation(("Setup Failure", said))
    world.ebs[VOLUME] = Volume(VOLUME, "in-use", [Attachment("i-1", "/dev/xvdaa", "attached")])


@kind("not authorized to perform: ec2:AttachVolume", "nomad-stateful doctor (IAM)")
def denied(world: Pending) -> None:
    said = "rpc error: code = Internal: UnauthorizedOperation: You are not authorized to perform: ec2:AttachVolume"
    world.allocation(("Setup Failure", said), status="failed")


@kind("no EC2 IMDS role found", "nomad-stateful doctor (metadata service)")
def no_credentials(world: Pending) -> None:
    world.allocation(("Setup Failure", "get credentials: no EC2 IMDS role found, operation error ec2imds"))


@kind("AttachmentLimitExceeded", "nomad-stateful doctor (attach slots left)")
def ec2_full(world: Pending) -> None:
    world.allocation(("Setup Failure", "AttachmentLimitExceeded: Volume count exceeds the limit"))


@kind("Could not resize volume", "see the link")
def not_grown(world: Pending) -> None:
    world.allocation(("Setup Failure", "Could not resize volume vol-1: Permission denied to resize filesystem"))


@kind("Device path not provided", "pulumi up")
def not_attached(world: Pending) -> None:
    world.allocation(("Setup Failure", "Device path not provided"))


@kind("wrong fs type", "never mkfs")
def other_file_system(world: Pending) -> None:
    world.allocation(("Setup Failure", "mount failed: wrong fs type, bad option, bad superblock on /dev/nvme1n1"))


@kind("Failed to pull `mysql:9.9`", "check image")
def no_image(world: Pending) -> None:
    world.allocation(("Driver Failure", "Failed to pull `mysql:9.9`: manifest unknown"), status="failed")


@kind("Missing: nomad.var.block", "pulumi up --refresh")
def no_secrets(world: Pending) -> None:
    world.allocation(("Template", "Missing: nomad.var.block(nomad/jobs/db@default.global)"))


@kind("OOM Killed", "raise memoryMib")
def oom(world: Pending) -> None:
    world.allocation(("Terminated", "Exit Code: 137, OOM Killed"), status="failed")


@kind("allocation 11aa22bb, task db failed 4 times, at last: Exit Code: 1", "nomad alloc logs -stderr 11aa22bb db")
def ends(world: Pending) -> None:
    world.allocation(("Terminated", "Exit Code: 1"), status="failed")
    world.nomad["job/db/allocations"][0]["TaskStates"]["db"] |= {"Failed": True, "Restarts": 3}


@kind("Nomad places job db again at 2026-11-22T18:25:34Z", "nomad job eval -force-reschedule db")
def again_later(world: Pending) -> None:
    later = {"ID": "e", "Status": "pending", "CreateIndex": 9, "WaitUntil": "2026-11-22T18:25:34Z"}
    world.nomad["job/db/evaluations"] = [later]


@kind("Nomad's servers have not evaluated job db for 60 s", "nomad server members")
def not_evaluated(world: Pending) -> None:
    created = (time.time() - 60) * 1e9
    world.nomad["job/db/evaluations"] = [{"ID": "e", "Status": "pending", "CreateIndex": 9, "CreateTime": created}]


@kind("allocation 11aa22bb is on client-2, which reaches no Nomad server", "nomad-stateful status")
def cut_off(world: Pending) -> None:
    world.allocation(status="unknown")


@kind("allocation 11aa22bb is on client-2, which reaches no Nomad server", "bring the client back")
def cut_off_member(world: Pending) -> None:
    cut_off(world)
    kept = {"LostAfter": int(24 * 3600e9), "Replace": False}
    world.nomad["job/db"]["TaskGroups"][0]["Disconnect"] = kept


@kind("allocation 8f3c2a1b on client-1 is to stop and is running", "nomad alloc status 8f3c2a1b")
def predecessor(world: Pending) -> None:
    stub = {"ID": HOLDER, "NodeName": "client-1", "DesiredStatus": "stop", "ClientStatus": "running", "CreateIndex": 3}
    world.nomad["job/db/allocations"] = [stub]


@kind("runs and its checks have not passed in time", "nomad alloc checks 11aa22bb")
def failed_checks(world: Pending) -> None:
    world.allocation(("Started", "Task started by client"), status="running", DeploymentStatus={"Healthy": False})


@kind("a controller of CSI plugin aws-ebs0 is unhealthy", "wait a minute")
def sick_controller(world: Pending) -> None:
    world.allocation()
    sick = {"Healthy": False, "HealthDescription": "killed", "AllocID": "c0ffee00-1"}
    world.nomad["plugin/csi/aws-ebs0"]["Controllers"]["node-client-2"] = sick


@kind("Nomad knows no CSI plugin aws-ebs0, which volume mysql is of", "pulumi up --refresh")
def unknown_plugin(world: Pending) -> None:
    world.allocation()
    world.nomad["plugin/csi/aws-ebs0"] = None


@kind("EC2 has no such volume any more", "nomad-stateful snapshots")
def gone_in_ec2(world: Pending) -> None:
    world.allocation()
    world.ebs[VOLUME] = Volume(VOLUME, "not-found")


@pytest.mark.parametrize(("cause", "what", "next_"), KINDS)
def test_each_kind_of_pending_is_told_with_the_next_command(cause: Cause, what: str, next_: str) -> None:
    world = Pending()
    cause(world)
    found = world.reasons()
    reason = next((one for one in found if what in one.what), None)
    assert reason is not None, found
    assert next_ in reason.next
    assert reason.why
    assert reason.link.startswith(("https://", "docs/"))


def test_clients_of_other_zones_are_no_reason() -> None:
    world = Pending()
    full_client(world)
    assert len(world.reasons()) == 1


def test_what_runs_is_in_order() -> None:
    world = Pending()
    world.allocation(("Started", "Task started by client"), status="running")
    world.claim(job="db")
    assert world.reasons() == []
    assert world.reasons("mysql") == []


def test_an_evaluation_that_was_placed_since_is_no_reason() -> None:
    world = Pending()
    claimed(world)
    world.nomad["job/db/evaluations"][0]["CreateIndex"] = 2
    world.allocation(("Started", "Task started by client"), status="running")
    assert world.reasons() == []


def test_where_nothing_says_why_it_says_so() -> None:
    (reason,) = Pending().reasons()
    assert reason.what == "job db does not run: it has no allocation"
    assert reason.next == "nomad job status db"


def test_its_commands_look_into_the_stacks_namespace() -> None:
    world = Pending()
    claimed(world)
    (reason,) = jobs.reasons(Scene(world.facts(), "databases"), "db")
    assert reason.next == "nomad job stop -namespace databases old, if that job may end"


def test_a_volume_is_explained_by_the_jobs_that_ask_for_it() -> None:
    world = Pending()
    claimed(world)
    (reason,) = world.reasons("mysql")
    assert reason.what.startswith("job db: volume mysql is in use")


def test_a_name_of_nothing_is_answered_with_the_names_that_there_are() -> None:
    with pytest.raises(OperateError, match="has nope: the stack has mysql, mysql-server"):
        Pending().reasons("nope")


def explained(monkeypatch: pytest.MonkeyPatch, world: Pending, *, as_json: bool) -> None:
    sources = world.facts().sources
    monkeypatch.setattr(command, "Facts", lambda _sources: Facts(sources))
    monkeypatch.setattr(Sources, "of_stack", lambda: sources)
    command.explain("db", as_json=as_json)


def test_it_prints_the_reasons_and_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    world = Pending()
    stopped(world)
    with pytest.raises(StuckError, match="job db is held up"):
        explained(monkeypatch, world, as_json=False)
    assert capsys.readouterr().out.splitlines() == [
        "job db:",
        "  job db is stopped",
        "      why:  somebody stopped it; nothing starts it automatically",
        "      next: pulumi up --refresh",
        "      more: docs/runbook.md",
    ]


def test_a_page_that_a_wheel_has_brought_is_named_by_its_path(
    brought: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    world = Pending()
    stopped(world)
    with pytest.raises(StuckError):
        explained(monkeypatch, world, as_json=False)
    assert f"      more: {brought}/runbook.md" in capsys.readouterr().out.splitlines()


def test_scripts_get_an_object(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    world = Pending()
    world.allocation(("Started", "Task started by client"), status="running")
    explained(monkeypatch, world, as_json=True)
    assert json.loads(capsys.readouterr().out) == {"kind": "job", "name": "db", "ok": True, "reasons": []}


def test_what_nomad_does_not_tell_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    world = Pending()
    world.nomad["status/leader"] = OperateError("cannot reach Nomad")
    with pytest.raises(OperateError, match="db cannot be explained: cannot reach Nomad"):
        explained(monkeypatch, world, as_json=False)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("placement", "databases", "is not a map: the namespace is one of its keys"),
        ("volumes", ["mysql"], "is not a list of maps"),
        ("volumes", 5, "is not a list of maps"),
        ("mysql", "mysql:9.7.4", "is not a map"),
    ],
)
def test_a_setting_of_another_form_is_an_error(
    monkeypatch: pytest.MonkeyPatch, key: str, value: object, said: str
) -> None:
    world = Pending()
    world.settings[key] = value
    monkeypatch.setattr(Sources, "of_stack", lambda: world.facts().sources)
    with pytest.raises(OperateError, match=f"nothing-has-it cannot be explained: nomad-stateful:{key} {said}"):
        command.explain("nothing-has-it", as_json=False)
