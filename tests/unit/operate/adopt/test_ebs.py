"""EBS volumes made by hand that become the stack's: settings as EC2 has them, and tags before the settings."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from botocore.exceptions import ClientError

from nomad_stateful.operate import frame
from nomad_stateful.operate.adopt import command
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.program import settings
from tests.fake_nomad import FakeNomad
from tests.unit.operate.adopt.cluster import EBS, Ec2, have, run, terraform, told, volume
from tests.unit.operate.commands import parsed

VOL = "vol-0000000000000000a"
OWN = {"Name": "ledger", "ebs.csi.aws.com/cluster": "true", "nomad-stateful-stack": "nomad-stateful/prod"}
STACK, GUARD = "nomad-stateful-stack", "nomad-stateful-guard"
KEY = "arn:aws:kms:us-west-2:123456789012:key/11111111-2222-3333-4444-555555555555"


def tagged(**tags: str) -> list[dict[str, str]]:
    return [{"Key": key.replace("_", "-"), "Value": value} for key, value in tags.items()]


def test_its_settings_are_what_ec2_has(ec2: Ec2) -> None:
    ec2.volumes[0] |= {"Encrypted": True, "KmsKeyId": KEY, "Tags": tagged(team="books", Name="old")}
    said = told("--ebs")
    (made,) = said["settings"]["volumes"]
    assert made == {
        "name": "ledger",
        "plugin": "ebs",
        "zone": "us-west-2a",
        "sizeGib": 10,
        "type": "gp3",
        "iops": 3000,
        "throughputMibps": 125,
        "encrypted": True,
        "kmsKeyArn": KEY,
        "adopt": True,
        "tags": {"team": "books"},
        "accessMode": "single-node-writer",
        "attachmentMode": "file-system",
        "fsType": "ext4",
        "retain": True,
    }
    assert "adopt" not in said["settings"]
    assert said["tags"] == [{"volume": "ledger", "externalId": VOL, "tags": OWN | {GUARD: None}}]
    parsed = settings.parse(said["settings"])
    assert (parsed.volumes[0].provision, parsed.volumes[0].adopt, parsed.volumes[0].retain) == ("pulumi", True, True)


@pytest.mark.parametrize(
    ("has", "expected"),
    [
        ({"VolumeType": "gp2", "Iops": 100}, {"type": "gp2"}),
        ({"VolumeType": "io2", "Iops": 500}, {"type": "io2", "iops": 500}),
        ({"VolumeType": "st1", "Size": 125, "Throughput": 5}, {"type": "st1"}),
    ],
)
def test_what_its_type_has_no_setting_for_is_none(ec2: Ec2, has: dict[str, Any], expected: dict[str, Any]) -> None:
    kept = {key: value for key, value in EBS.items() if key not in ("Iops", "Throughput")}
    ec2.volumes[0] = kept | has
    said = told("--ebs")["settings"]
    assert {key: said["volumes"][0].get(key) for key in ("type", "iops", "throughputMibps")} == {
        "iops": None,
        "throughputMibps": None,
    } | expected
    settings.parse(said)


def test_a_registration_with_a_name_of_its_own_is_kept_so(nomad: FakeNomad) -> None:
    have(nomad, volume(Name="The ledger", RequestedTopologies=None))
    said = told("--ebs")["settings"]
    parsed = settings.parse(said)
    assert parsed.volumes[0].registered.name == "The ledger"
    said["volumes"][0]["adopt"] = False
    with pytest.raises(settings.SettingsError, match=r"registered is set: .* Set adopt: true, or remove it"):
        settings.parse(said)


def test_looking_tags_nothing_and_says_what_would_be(
    ec2: Ec2, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ec2.volumes[0]["Tags"] = tagged(Name="old")
    run("--ebs")
    assert f"volume ledger ({VOL}): Name=ledger (it is old), ebs.csi.aws.com/cluster=true" in capsys.readouterr().out
    with pytest.raises(OperateError, match=f"tag {VOL}, and write Pulumi.prod.yaml\\? .*add --yes"):
        run("--ebs", "--write")
    assert ec2.tags(VOL) == {"Name": "old"}
    assert not (tmp_path / "Pulumi.prod.yaml").exists()


def test_tags_come_before_the_settings_and_a_run_that_was_cut_off_goes_on_with_them(
    ec2: Ec2, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "Pulumi.prod.yaml"

    def killed(*_words: Any, **_more: Any) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", killed)
        with pytest.raises(KeyboardInterrupt):
            run("--ebs", "--write", "--yes")
    given = ec2.tags(VOL)
    assert given == OWN | {GUARD: given[GUARD]}
    assert len(given[GUARD]) == 16
    assert not path.exists()
    run("--ebs", "--write", "--yes")
    assert ec2.tags(VOL) == given
    written = yaml.safe_load(path.read_text(encoding="utf-8"))["config"]
    assert written["nomad-stateful:volumes"][0]["adopt"] is True
    with pytest.raises(OperateError, match="nothing was written"):
        run("--ebs", "--write", "--yes")


def test_a_refusal_by_ec2_leaves_the_settings_unwritten(ec2: Ec2, tmp_path: Path) -> None:
    ec2.refuses = ClientError({"Error": {"Code": "UnauthorizedOperation"}}, "CreateTags")
    with pytest.raises(
        OperateError, match=rf"volume ledger: EC2 does not tag {VOL}: .* Allow ec2:CreateTags\. No settings"
    ):
        run("--ebs", "--write", "--yes")
    assert not (tmp_path / "Pulumi.prod.yaml").exists()


def test_nothing_is_tagged_where_the_settings_cannot_be_written(ec2: Ec2, tmp_path: Path) -> None:
    (tmp_path / "Pulumi.prod.yaml").write_text("config:\n  nomad-stateful:clientRole: r\n", encoding="utf-8")
    with pytest.raises(OperateError, match="nothing was written"):
        run("--ebs", "--write", "--yes")
    assert ec2.tags(VOL) == {}


def test_a_volume_that_became_another_stacks_before_the_answer_is_not_taken(
    ec2: Ec2, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tagged(nomad_stateful_stack="nomad-stateful/other")
    monkeypatch.setattr(frame, "confirm", lambda *_, **__: ec2.volumes[0].update(Tags=other))
    with pytest.raises(OperateError, match=f"^{VOL} has other tags than before the question.* Nothing was written"):
        run("--ebs", "--write")
    assert ec2.tags(VOL) == {STACK: "nomad-stateful/other"}
    assert not (tmp_path / "Pulumi.prod.yaml").exists()


@pytest.mark.parametrize(
    ("has", "key"),
    [
        ({"MultiAttachEnabled": True}, "multi_attach"),
        ({"Tags": tagged(nomad_stateful_stack="nomad-stateful/other")}, f"tag {STACK}"),
        ({"Tags": tagged(nomad_stateful_left="nomad-stateful/prod/ledger")}, "tag nomad-stateful-left"),
        ({"State": "error"}, "state"),
        ({"VolumeType": "gp9"}, "type"),
        ({"Tags": tagged(**{f"key{number}": "" for number in range(41)})}, "tags"),
    ],
)
def test_what_cannot_become_the_stacks_stays_existing_and_is_named(ec2: Ec2, has: dict[str, Any], key: str) -> None:
    ec2.volumes[0] |= has
    said = told("--ebs")
    (gap,) = said["notExpressed"]
    assert (gap["subject"], gap["key"], gap["leftOut"]) == ("volume ledger", key, False)
    assert f"{VOL} stays existing" in gap["why"]
    assert (said["settings"]["volumes"][0]["externalId"], said["settings"]["adopt"]) == (VOL, ["ledger"])
    assert said["tags"] == []
    before = ec2.tags(VOL)
    run("--ebs", "--write", "--yes")
    assert ec2.tags(VOL) == before
    settings.parse(said["settings"])


def test_of_two_registrations_of_one_volume_neither_takes_it(nomad: FakeNomad) -> None:
    have(nomad, volume(), volume("again"))
    said = told("--ebs")
    assert {gap["value"] for gap in said["notExpressed"]} == {"registered as again, ledger"}
    assert said["tags"] == []


def test_a_name_that_another_of_the_stacks_volumes_has_is_not_given_twice(ec2: Ec2) -> None:
    tags = tagged(Name="ledger", nomad_stateful_stack=OWN[STACK])
    ec2.volumes.append(EBS | {"VolumeId": "vol-0000000000000000f", "Tags": tags})
    (gap,) = told("--ebs")["notExpressed"]
    assert (gap["key"], gap["value"]) == ("name", "ledger")
    assert "vol-0000000000000000f has this stack's tags and this name already" in gap["why"]


@pytest.mark.parametrize("stack", ["", "nomad-stateful/prod"])
def test_a_guard_that_another_volume_or_stack_may_have_is_not_kept(ec2: Ec2, stack: str) -> None:
    of_the_stack = {"nomad_stateful_stack": stack} if stack else {}
    ec2.volumes[0]["Tags"] = tagged(nomad_stateful_guard="g1", **of_the_stack)
    # A copy of its tags, as a restored snapshot may have.
    other = tagged(Name="other", nomad_stateful_guard="g1", **of_the_stack)
    ec2.volumes.append(EBS | {"VolumeId": "vol-0000000000000000f", "Tags": other})
    assert told("--ebs")["tags"][0]["tags"][GUARD] is None


def test_terraform_forgets_the_volume_too(tmp_path: Path) -> None:
    state = terraform(tmp_path)
    state.write_text(state.read_text(encoding="utf-8").replace("vol-0000000000000000c", VOL), encoding="utf-8")
    said = told("--ebs", "--terraform-state", str(state))
    assert "terraform state rm 'aws_ebs_volume.this'" in said["afterwards"]
    assert "aws_ebs_volume.this" not in said["untouched"]
    said = told("--terraform-state", str(state))
    assert "aws_ebs_volume.this" in said["untouched"]


def test_without_a_project_there_is_no_tag(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").unlink()
    with pytest.raises(OperateError, match="names no project"):
        run("--ebs")


def test_looking_needs_no_stack_to_be_named() -> None:
    assert not command.COMMAND.acts(parsed(command.COMMAND, "--ebs"))
