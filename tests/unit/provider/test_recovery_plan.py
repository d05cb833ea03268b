"""What VolumeRelease says at its deadline, situation by situation, over a fake Nomad and a fake EC2."""

from typing import Any, NamedTuple

import pytest

from nomad_stateful.ebs.volumes import Attachment, Volume
from nomad_stateful.errors import ProviderError
from nomad_stateful.provider.resources import volume_release
from nomad_stateful.provider.resources.volume_release import VolumeRelease
from nomad_stateful.recovery.plan import SAFE, Step, recovery_plans
from nomad_stateful.recovery.volume_usage import inspect_volume
from nomad_stateful.waiting import Context
from tests.fake_nomad import FakeNomad

VOLUME, INSTANCE, OTHER = "vol-0123456789abcdef0", "i-0a", "i-0b"
NODE, ALLOC = "node-0a", "8f3c2a1b-0000"
STOP = f"aws ec2 stop-instances --instance-ids {INSTANCE}"
DETACH = f"aws ec2 detach-volume --volume-id {VOLUME} --instance-id {INSTANCE}"
PURGE = f"nomad operator api -X PUT /v1/node/{NODE}/purge"
COLLECT = "nomad volume status -namespace default mysql"


class FakeEbs:
    """EC2's word on one volume, and on instances, which are all in one state."""

    def __init__(self, attachment: str, instance: str, place: str = INSTANCE) -> None:
        self._attachment = attachment
        self._instance = instance
        self._place = place

    def state(self, _volume_id: str) -> Volume:
        if self._attachment == "silent":
            raise ProviderError("EC2 does not say whether it is detached: AccessDenied")
        if not self._attachment:
            return Volume(VOLUME, "available")
        return Volume(VOLUME, "in-use", [Attachment(self._place, "/dev/xvdaa", self._attachment)])

    def instance_states(self, instance_ids: list[str]) -> dict[str, str]:
        if self._attachment == "silent":
            raise ProviderError("EC2 does not say whether it runs: AccessDenied")
        return dict.fromkeys(instance_ids, self._instance)


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(volume_release, "EC2_POLL_S", 0.01)


def hold(
    nomad: FakeNomad, *, alloc: str = "", client: str = "ready", node_plugin: bool = True, unmounted: bool = False
) -> None:
    """A volume with at most one claim, and the client it is on ("" for one that Nomad has forgotten)."""
    stub = {
        "ID": ALLOC,
        "Namespace": "default",
        "JobID": "mysql-server",
        "NodeID": NODE,
        "NodeName": "client-1",
        "DesiredStatus": "run",
        "ClientStatus": alloc,
    }
    held = {"Allocations": [stub], "WriteAllocs": {ALLOC: None}} if alloc else {"Allocations": [], "WriteAllocs": {}}
    nomad.put("volume/csi/mysql", {"ID": "mysql", "PluginID": "ebs", "ReadAllocs": {}, **held})
    nomad.put("job/mysql-server", {"ID": "mysql-server", "Stop": False})
    plugins = {"ebs": {"Healthy": True, "NodeInfo": {"ID": INSTANCE}}} if node_plugin else {}
    attributes = {"unique.platform.aws.instance-id": INSTANCE}
    node: dict[str, Any] = {"ID": NODE, "Name": "client-1", "Attributes": attributes, "CSINodePlugins": plugins}
    details = {"volume_id": "mysql", "success": "true"}
    node["Events"] = [{"Message": "Unmount volume", "Details": details}] if unmounted else []
    nomad.put(f"node/{NODE}", node | {"Status": client} if client else None)


class Situation(NamedTuple):
    """What holds the volume, EC2's attachment and instance, what the message says, and the next commands, in order."""

    held: dict[str, Any]
    attachment: str
    instance: str
    said: str
    commands: list[str]


SITUATIONS = {
    "the allocation still runs": Situation(
        {"alloc": "running"},
        "attached",
        "running",
        "allocation 8f3c2a1b of job mysql-server on client-1 (running) claims it",
        ["nomad job stop -namespace default mysql-server"],
    ),
    "a claim without a live allocation": Situation(
        {"alloc": "complete"}, "attached", "running", "(complete) claims it", [COLLECT]
    ),
    "a claim without a live allocation, and no node plugin to unmount": Situation(
        {"alloc": "complete", "node_plugin": False},
        "attached",
        "running",
        "(complete) claims it",
        ["nomad plugin status -verbose ebs"],
    ),
    "a claim without a live allocation, still mounted on its client": Situation(
        {"alloc": "complete"}, "busy", "running", "(complete) claims it", [STOP]
    ),
    "the client is lost, its instance runs: it may write": Situation(
        {"alloc": "lost", "client": "down"},
        "busy",
        "running",
        f"client client-1 (node-0a) is down; its instance {INSTANCE} is running",
        [STOP],
    ),
    "the client is disconnected, its instance runs: it may write": Situation(
        {"alloc": "unknown", "client": "disconnected"}, "attached", "running", "is disconnected", [STOP]
    ),
    "the client is lost, its instance is stopped": Situation(
        {"alloc": "lost", "client": "down"}, "attached", "stopped", f"its instance {INSTANCE} is stopped", [COLLECT]
    ),
    "the client is lost, its instance is terminated": Situation(
        {"alloc": "lost", "client": "down"}, "", "terminated", f"its instance {INSTANCE} is terminated", [COLLECT]
    ),
    "the client is disconnected with an allocation that is kept for it, its instance is terminated": Situation(
        {"alloc": "unknown", "client": "down"},
        "",
        "terminated",
        "Nomad keeps the allocation for the client until the job's lost_after",
        [PURGE, COLLECT],
    ),
    "the same, its instance is stopped": Situation(
        {"alloc": "unknown", "client": "disconnected"},
        "attached",
        "stopped",
        "Nomad keeps the allocation for the client until the job's lost_after",
        [DETACH, PURGE, COLLECT],
    ),
    "the client is lost, its instance is stopping": Situation(
        {"alloc": "lost", "client": "down"},
        "attached",
        "stopping",
        f"its instance {INSTANCE} is stopping",
        [f"aws ec2 wait instance-stopped --instance-ids {INSTANCE}"],
    ),
    "the client died before its node plugin registered, its instance is stopped": Situation(
        {"alloc": "lost", "client": "down", "node_plugin": False},
        "attached",
        "stopped",
        f"its instance {INSTANCE} is stopped",
        [DETACH, PURGE, COLLECT],
    ),
    "Nomad has forgotten the client, its instance is stopped": Situation(
        {"alloc": "lost", "client": ""},
        "attached",
        "stopped",
        f"{VOLUME} is attached to {INSTANCE} as /dev/xvdaa (attached); {INSTANCE} is stopped",
        [DETACH, COLLECT],
    ),
    "Nomad has forgotten the client, its instance runs": Situation(
        {"alloc": "lost", "client": ""}, "busy", "running", f"{INSTANCE} is running", [STOP]
    ),
    "no claim, but busy on a running instance": Situation(
        {}, "busy", "running", f"{VOLUME} is attached to {INSTANCE} as /dev/xvdaa (busy); {INSTANCE} is running", [STOP]
    ),
    "no claim, detaching is stuck": Situation({}, "detaching", "running", "(detaching)", [STOP]),
    "no claim, attached to a stopped instance": Situation(
        {}, "attached", "stopped", f"{INSTANCE} is stopped", [DETACH]
    ),
    "no claim, attached to a running instance": Situation(
        {}, "attached", "running", f"{INSTANCE} is running", [DETACH]
    ),
    "no claim, attached to a running instance that has unmounted it, being detached": Situation(
        {"unmounted": True}, "detaching", "running", "(detaching)", [STOP]
    ),
    "Nomad has forgotten the client, and EC2 has it attached nowhere": Situation(
        {"alloc": "lost", "client": ""}, "", "not-found", "(lost) claims it", [COLLECT]
    ),
    "EC2 does not answer, and the client is lost": Situation(
        {"alloc": "lost", "client": "down"},
        "silent",
        "not-found",
        "is in an unknown state (EC2 does not say whether it is detached: AccessDenied)",
        [STOP],
    ),
}


@pytest.mark.parametrize("situation", sorted(SITUATIONS))
def test_the_deadline_names_who_holds_the_volume_and_the_next_commands(nomad: FakeNomad, situation: str) -> None:
    held, attachment, instance, said, commands = SITUATIONS[situation]
    hold(nomad, **held)
    message = failure(nomad, FakeEbs(attachment, instance))
    assert "nothing was forced" in message
    assert said in message
    assert [line.split("`")[1] for line in message.splitlines() if line.startswith("Next: ")] == commands
    assert nomad.requested("PUT") == nomad.requested("DELETE") == []


def failure(nomad: FakeNomad, ebs: FakeEbs) -> str:
    state = {"volumeId": "mysql", "backend": "ebs", "externalId": VOLUME, "timeoutS": 0.05, "releaseId": "r"}
    with pytest.raises(ProviderError) as failed:
        VolumeRelease(lambda: nomad.api, lambda _region: ebs).delete(Context(), "r", state)  # type: ignore[arg-type, return-value]
    return str(failed.value)


@pytest.mark.parametrize("instance", ["running", "pending", "stopping", "shutting-down", "unknown"])
@pytest.mark.parametrize("attachment", ["attached", "busy", "detaching"])
@pytest.mark.parametrize("client", ["down", "disconnected", "initializing", ""])
@pytest.mark.parametrize("node_plugin", [True, False])
def test_nothing_is_safe_as_long_as_the_instance_may_write(
    nomad: FakeNomad, instance: str, attachment: str, client: str, node_plugin: bool
) -> None:
    hold(nomad, alloc="lost", client=client, node_plugin=node_plugin)
    ebs: Any = FakeEbs(attachment, instance)
    usage = inspect_volume(nomad.api, "default", "mysql", VOLUME, ebs)
    steps = [step for plan in recovery_plans(usage, wanted_free=False) for step in plan.steps]
    assert steps
    assert [step for step in steps if step.action in SAFE] == []
    assert not any(" --force" in step.command for step in steps)


def test_a_volume_attached_elsewhere_than_it_is_claimed_is_a_problem_of_its_own(nomad: FakeNomad) -> None:
    hold(nomad, alloc="pending")
    ebs: Any = FakeEbs("busy", "running", place=OTHER)
    (plan,) = recovery_plans(inspect_volume(nomad.api, "default", "mysql", VOLUME, ebs), wanted_free=False)
    assert f"attached to {OTHER}" in plan.problem
    assert plan.steps[0].command == f"aws ec2 stop-instances --instance-ids {OTHER}"


def test_what_a_client_has_unmounted_and_nobody_claims_is_safe_to_detach(nomad: FakeNomad) -> None:
    hold(nomad, unmounted=True)
    (step,) = steps_of(nomad)
    assert (step.action, step.target, step.command) == ("ec2-detach", INSTANCE, DETACH)


def uses(**changes: Any) -> dict[str, Any]:
    """An allocation on the client that uses the volume."""
    group = {"Name": "g", "Volumes": {"data": {"Type": "csi", "Source": "mysql"}}}
    job = {"TaskGroups": [group]}
    return {"Namespace": "default", "TaskGroup": "g", "ClientStatus": "pending", "Job": job} | changes


def said(message: str, success: str = "true") -> dict[str, Any]:
    return {"Message": message, "Details": {"volume_id": "mysql", "success": success}}


@pytest.mark.parametrize(
    ("path", "change"),
    [
        (f"node/{NODE}", {"Status": "down"}),
        (f"node/{NODE}", {"CSINodePlugins": {"ebs": {"Healthy": False}}}),
        (f"node/{NODE}", {"Events": []}),
        (f"node/{NODE}", {"Events": [said("Unmount volume"), said("Mount volume")]}),
        (f"node/{NODE}", {"Events": [said("Mount volume"), said("Unmount volume", "false")]}),
        (f"node/{NODE}/allocations", [uses()]),
        (f"node/{NODE}/allocations", [uses(ClientStatus="unknown")]),
        ("volumes", [{"ID": "mysql", "Namespace": "default"}, {"ID": "mysql", "Namespace": "other"}]),
    ],
)
def test_what_may_be_mounted_is_never_safe_to_detach(nomad: FakeNomad, path: str, change: Any) -> None:
    hold(nomad, unmounted=True)
    nomad.put(path, nomad.records[path] | change if isinstance(change, dict) else change)
    (step,) = steps_of(nomad)
    assert (step.action, step.command) == ("by-hand", DETACH)


@pytest.mark.parametrize("other", [{"ClientStatus": "complete"}, {"Namespace": "other"}, {"TaskGroup": "another"}])
def test_what_does_not_use_the_volume_does_not_count(nomad: FakeNomad, other: dict[str, Any]) -> None:
    hold(nomad, unmounted=True)
    nomad.put(f"node/{NODE}/allocations", [uses(**other)])
    (step,) = steps_of(nomad)
    assert step.action == "ec2-detach"


def steps_of(nomad: FakeNomad) -> list[Step]:
    """The steps for a volume that EC2 has attached to the client's instance, which runs."""
    ebs: Any = FakeEbs("attached", "running")
    plans = recovery_plans(inspect_volume(nomad.api, "default", "mysql", VOLUME, ebs), wanted_free=False)
    return [step for plan in plans for step in plan.steps]


def test_a_volume_in_use_is_in_order(nomad: FakeNomad) -> None:
    hold(nomad, alloc="running")
    ebs: Any = FakeEbs("attached", "running")
    assert recovery_plans(inspect_volume(nomad.api, "default", "mysql", VOLUME, ebs), wanted_free=False) == []
