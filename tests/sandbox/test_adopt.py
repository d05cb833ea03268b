"""A cluster whose driver, volume and writer were made by the nomad CLI and boto3 alone becomes a stack.

Nothing of it is the project's: other jobs, ids and names, a registration without topology whose name is not its id.
"""

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.sandbox.owners import management, pulumi
from tools.trial.running import Running, eventually

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]

FILES = Path(__file__).parent / "by_hand"
LONGEST_PAUSE_S = 5.0
"""Between two lines of the writer: it writes ten in a second, on two busy cores."""
VOLUME = """
id        = "ledger"
name      = "The ledger's disk"
type      = "csi"
plugin_id = "ebs"
external_id = "{}"
capability {{
  access_mode     = "single-node-writer"
  attachment_mode = "file-system"
}}
mount_options {{
  fs_type     = "ext4"
  mount_flags = ["noatime"]
}}
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running.prepare(tmp_path_factory.mktemp("adopt"))
    with running.up("--no-stack"):
        pulumi(running, "stack", "init", "taken")
        (running.project / "Pulumi.taken.yaml").unlink(missing_ok=True)
        pulumi(running, "config", "set", "aws:region", "us-west-2", "--stack", "taken")
        yield running


def nomad(place: Running, *words: str) -> str:
    """The nomad CLI, as the cluster's administrator."""
    done = place.run("nomad", *words, more_env={"NOMAD_TOKEN": place.management_token})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def ebs(place: Running) -> str:
    """The EBS volume of a writer that runs; all made by hand."""
    iam = place.aws("iam")
    statement = {"Effect": "Allow", "Action": "ec2:*", "Resource": "*"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    iam.put_role_policy(RoleName="nomad-client", PolicyName="by-hand", PolicyDocument=document)
    iam.close()
    made = str(place.ec2.create_volume(AvailabilityZone="us-west-2a", Size=1, VolumeType="gp3")["VolumeId"])
    nomad(place, "job", "run", "-detach", str(FILES / "plugin.nomad.hcl"))
    nomad(place, "job", "run", "-detach", str(FILES / "controller.nomad.hcl"))
    eventually(lambda: _healthy(place), 120, "the plugin is healthy", lambda: nomad(place, "plugin", "status", "ebs"))
    (place.project / "volume.hcl").write_text(VOLUME.format(made), encoding="utf-8")
    nomad(place, "volume", "register", "volume.hcl")
    nomad(place, "job", "run", "-detach", str(FILES / "writer.nomad.hcl"))
    eventually(lambda: rows(place) or None, 120, "the writer writes", lambda: nomad(place, "job", "status", "writer"))
    return made


def _healthy(place: Running) -> bool | None:
    found = place.nomad.find("plugin/csi/ebs") or {}
    return True if found.get("ControllersHealthy") and found.get("NodesHealthy") == 3 else None


def writer(place: Running) -> dict[str, Any]:
    found = [one for one in place.nomad.get("job/writer/allocations") if one["ClientStatus"] == "running"]
    return found[0] if len(found) == 1 else {}


def rows(place: Running) -> list[tuple[int, float]]:
    if not (running := writer(place)):
        return []
    done = place.in_task(running["ID"], "cat", "/data/rows")
    assert done.returncode == 0, done.stdout + done.stderr
    split = [line.split() for line in done.stdout.splitlines()]
    return [(int(line[0]), float(line[1])) for line in split if len(line) == 2]


def assert_the_writer_never_stopped(place: Running, since: dict[str, Any]) -> float:
    """The same allocation without a restart, and every line; the longest pause between two, in seconds."""
    now = writer(place)
    assert now["ID"] == since["ID"]
    assert now["TaskStates"]["writer"]["Restarts"] == 0
    found = rows(place)
    assert [number for number, _ in found] == list(range(1, len(found) + 1))
    pause = max(after - before for (_, before), (_, after) in pairwise(found))
    assert pause < LONGEST_PAUSE_S
    return pause


def jobs(place: Running) -> dict[str, int]:
    """The version of each job: a job that is submitted with anything else has another one."""
    listed = [one["ID"] for one in place.nomad.get("jobs") if not one.get("Stop")]
    return {job: place.nomad.get(f"job/{job}")["JobModifyIndex"] for job in listed}


def registration(place: Running) -> dict[str, Any]:
    """All of the registration but what a claim or a registration that changes nothing counts on."""
    found = dict(place.nomad.get("volume/csi/ledger"))
    return {key: value for key, value in found.items() if key not in ("ModifyIndex", "ModifyTime", "Allocations")}


def tags(place: Running, volume_id: str) -> dict[str, str]:
    [found] = place.ec2.describe_volumes(VolumeIds=[volume_id])["Volumes"]
    return {tag["Key"]: tag["Value"] for tag in found.get("Tags") or []}


def operate(place: Running, *words: str, fails: bool = False) -> str:
    done = place.run(place.python, "-m", "nomad_stateful.operate", *words, "--stack", "taken")
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stdout + done.stderr


def configure(place: Running, **settings: Any) -> None:
    path = place.project / "Pulumi.taken.yaml"
    known = yaml.safe_load(path.read_text(encoding="utf-8"))
    known["config"] |= {f"nomad-stateful:{key}": value for key, value in settings.items()}
    known["config"] = {key: value for key, value in known["config"].items() if value is not None}
    path.write_text(yaml.safe_dump(known), encoding="utf-8")


def test_what_was_made_by_hand_becomes_a_stack_and_nothing_of_it_changes(place: Running, ebs: str) -> None:
    before, had, was = writer(place), jobs(place), registration(place)
    said = operate(place, "adopt", fails=True)
    assert "volume ledger: mount_flags is [REDACTED]: Nomad does not show mount flags" in said
    operate(place, "adopt", "--mount-flags", "ledger=noatime", "--write", "--yes")

    steps = json.loads(pulumi(place, "preview", "--stack", "taken", "--json"))["steps"]
    assert {step["op"] for step in steps} == {"create"}
    types = sorted({step["newState"]["type"].rpartition(":")[2] for step in steps})
    assert types == [
        "CsiPlugin",
        "CsiVolumeGuard",
        "CsiVolumeRegistration",
        "CsiVolumes",
        "Ownership",
        "PluginHealth",
        "Stack",
        "ZonalVolumes",
    ]
    pulumi(place, "up", "--yes", "--skip-preview", "--stack", "taken")
    assert (jobs(place), registration(place)) == (had, was)

    configure(place, adopt=None)
    pulumi(place, "up", "--yes", "--skip-preview", "--expect-no-changes", "--stack", "taken")
    pulumi(place, "preview", "--refresh", "--expect-no-changes", "--stack", "taken")
    assert place.ec2.describe_volumes(VolumeIds=[ebs])["Volumes"][0].get("Tags") in (None, [])
    print(f"longest pause of the writer: {assert_the_writer_never_stopped(place, before):.2f} s")


def test_a_setting_that_would_change_the_registration_is_refused(place: Running, ebs: str) -> None:
    before, was = writer(place), registration(place)
    pulumi(place, "stack", "init", "another")
    (place.project / "Pulumi.another.yaml").write_text((place.project / "Pulumi.taken.yaml").read_text())
    said = pulumi(place, "preview", "--stack", "another", fails=True)
    assert "volumes.ledger.name is ledger: the volume of this id in namespace default belongs to another stack" in said
    pulumi(place, "stack", "rm", "another", "--yes")
    assert registration(place) == was
    assert_the_writer_never_stopped(place, before)


def test_a_destroy_leaves_all_as_it_was_before(place: Running, ebs: str) -> None:
    before, had, was = writer(place), jobs(place), registration(place)
    pulumi(place, "destroy", "--yes", "--skip-preview", "--stack", "taken")
    assert (jobs(place), registration(place)) == (had, was)
    api = management(place)
    assert api.get("vars", prefix="nomad/jobs/nomad-stateful") == []
    api.close()
    print(f"longest pause of the writer: {assert_the_writer_never_stopped(place, before):.2f} s")
    assert operate(place, "adopt", "--json", "--mount-flags", "ledger=noatime").count('"externalId"') == 1


def test_it_is_adopted_again_from_a_terraform_state(place: Running, ebs: str) -> None:
    """The state has the mount flags, which Nomad hides; what it has is named by its address."""
    before, was = writer(place), registration(place)
    attributes = {
        "id": "ledger",
        "volume_id": "ledger",
        "namespace": "default",
        "mount_options": [{"fs_type": "ext4", "mount_flags": ["noatime"]}],
    }
    kinds = {
        "nomad_csi_volume_registration": attributes,
        "aws_ebs_volume": {"id": ebs},
        "nomad_job": {"id": "storage", "namespace": "default"},
    }
    resources = [
        {"mode": "managed", "type": kind, "name": "ledger", "instances": [{"schema_version": 0, "attributes": has}]}
        for kind, has in kinds.items()
    ]
    state = {"version": 4, "terraform_version": "1.11.4", "serial": 7, "lineage": "x", "resources": resources}
    (place.project / "terraform.tfstate").write_text(json.dumps(state), encoding="utf-8")
    configure(place, **dict.fromkeys(("clientRole", "placement", "plugins", "volumes")))
    said = operate(place, "adopt", "--terraform-state", "terraform.tfstate", "--write", "--yes")
    assert "terraform state rm 'nomad_csi_volume_registration.ledger'" in said
    steps = json.loads(pulumi(place, "preview", "--stack", "taken", "--json"))["steps"]
    assert {step["op"] for step in steps} == {"create"}
    pulumi(place, "up", "--yes", "--skip-preview", "--stack", "taken")
    pulumi(place, "up", "--yes", "--skip-preview", "--expect-no-changes", "--stack", "taken")
    assert registration(place) == was
    assert_the_writer_never_stopped(place, before)
    pulumi(place, "destroy", "--yes", "--skip-preview", "--stack", "taken")
    assert registration(place) == was


@pytest.fixture
def audit(place: Running, ebs: str) -> str:
    """A second EBS volume: encrypted, out of a snapshot, with more than gp3's baseline, tagged, and used by nobody."""
    snapshot = place.ec2.create_snapshot(VolumeId=ebs)["SnapshotId"]
    place.ec2.get_waiter("snapshot_completed").wait(SnapshotIds=[snapshot])
    made = place.ec2.create_volume(
        AvailabilityZone="us-west-2a",
        SnapshotId=snapshot,
        Size=10,
        VolumeType="gp3",
        Iops=4000,
        Throughput=250,
        Encrypted=True,
        TagSpecifications=[{"ResourceType": "volume", "Tags": [{"Key": "team", "Value": "audit"}]}],
    )
    text = (FILES / "audit.volume.hcl").read_text(encoding="utf-8").replace("EXTERNAL_ID", made["VolumeId"])
    (place.project / "audit.hcl").write_text(text, encoding="utf-8")
    nomad(place, "volume", "register", "audit.hcl")
    return str(made["VolumeId"])


def test_its_ebs_volume_becomes_the_stacks_under_the_writer(place: Running, ebs: str, audit: str) -> None:
    before, had, was = writer(place), jobs(place), registration(place)
    configure(place, **dict.fromkeys(("clientRole", "placement", "plugins", "volumes", "adopt")))
    place.ec2.create_tags(Resources=[ebs], Tags=[{"Key": "Name", "Value": "ledger of 2019"}])
    words = ("adopt", "--ebs", "--mount-flags", "ledger=noatime")
    assert "Name=ledger (it is ledger of 2019)" in operate(place, *words)
    assert (tags(place, ebs), tags(place, audit)) == ({"Name": "ledger of 2019"}, {"team": "audit"})

    operate(place, *words, "--write", "--yes")
    given = tags(place, ebs)
    own = {"Name": "ledger", "ebs.csi.aws.com/cluster": "true", "nomad-stateful-stack": "nomad-stateful/taken"}
    assert given == own | {"nomad-stateful-guard": given["nomad-stateful-guard"]}
    # As after a kill between the tags and the settings.
    configure(place, **dict.fromkeys(("clientRole", "placement", "plugins", "volumes")))
    assert f"volume ledger ({ebs}) has them already" in operate(place, *words, "--write", "--yes")
    assert tags(place, ebs) == given

    steps = json.loads(pulumi(place, "preview", "--stack", "taken", "--json"))["steps"]
    assert {step["op"] for step in steps} == {"create", "import"}
    imported = {step["newState"]["type"] for step in steps if step["op"] == "import"}
    assert imported == {"aws:ebs/volume:Volume"}
    pulumi(place, "up", "--yes", "--skip-preview", "--stack", "taken")
    assert (jobs(place), registration(place)) == (had, was)
    assert state_ids(place) == {ebs, audit}
    pulumi(place, "up", "--yes", "--skip-preview", "--expect-no-changes", "--stack", "taken")
    pulumi(place, "preview", "--refresh", "--expect-no-changes", "--stack", "taken")
    print(f"longest pause of the writer: {assert_the_writer_never_stopped(place, before):.2f} s")
    assert_it_stays_when_the_stack_goes(place, ebs)


def state_ids(place: Running) -> set[str]:
    """The EBS volumes in the stack's state."""
    exported = json.loads(pulumi(place, "stack", "export", "--stack", "taken"))["deployment"]["resources"]
    return {one["id"] for one in exported if one["type"] == "aws:ebs/volume:Volume"}


def assert_it_stays_when_the_stack_goes(place: Running, ebs: str) -> None:
    """A destroy, once nobody uses it, deregisters it and leaves the EBS volume in AWS."""
    path = place.project / "Pulumi.taken.yaml"
    known = yaml.safe_load(path.read_text(encoding="utf-8"))
    configure(place, volumes=[one | {"protect": False} for one in known["config"]["nomad-stateful:volumes"]])
    pulumi(place, "up", "--yes", "--skip-preview", "--stack", "taken")
    nomad(place, "job", "stop", "writer")
    eventually(lambda: True if not place.nomad.get("volume/csi/ledger")["Allocations"] else None, 120, "it is free")
    pulumi(place, "destroy", "--yes", "--skip-preview", "--stack", "taken")
    assert place.nomad.find("volume/csi/ledger") is None
    assert tags(place, ebs)["nomad-stateful-stack"] == "nomad-stateful/taken"
