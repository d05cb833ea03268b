"""Settings for what a cluster has already, made by hand or by Terraform, and what is named since no setting has it."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from nomad_stateful.operate import frame, stack
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.program import settings
from tests.fake_nomad import FakeNomad
from tests.unit.operate.adopt.cluster import ZONE_KEY, have, run, terraform, told, volume


def test_what_runs_becomes_settings_that_the_program_takes() -> None:
    said = told()
    assert said["settings"]["clientRole"] == "nomad-client"
    assert said["settings"]["plugins"] == [{"id": "ebs", "driver": "ebs", "existing": True, "controllers": 1}]
    assert said["settings"]["adopt"] == ["ledger"]
    assert said["notExpressed"] == []
    assert said["untouched"] == ["job ebs-nodes (runs plugin ebs)", "job writer (uses volume ledger)"]
    parsed = settings.parse(said["settings"])
    assert parsed.jobs == []
    assert (parsed.volumes[0].external_id, parsed.volumes[0].retain) == ("vol-0000000000000000a", True)


def test_a_registration_keeps_its_own_name_and_lack_of_a_topology(nomad: FakeNomad) -> None:
    have(nomad, volume(Name="The ledger", RequestedTopologies=None))
    (made,) = told()["settings"]["volumes"]
    assert made["registered"] == {"name": "The ledger", "topologyKey": ""}
    assert made["zone"] == "us-west-2a"


def test_a_client_that_is_collected_meanwhile_does_not_end_it(nomad: FakeNomad) -> None:
    nomad.put("nodes", [{"ID": "node-1", "Status": "ready"}, {"ID": "collected", "Status": "ready"}])
    assert told()["settings"]["clientRole"] == "nomad-client"


def test_the_cluster_is_the_one_that_the_stacks_file_names(
    nomad: FakeNomad, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NOMAD_ADDR", "http://127.0.0.1:1")
    (tmp_path / "Pulumi.prod.yaml").write_text(f"config:\n  nomad-csi:address: {nomad.address}\n", encoding="utf-8")
    assert told()["settings"]["adopt"] == ["ledger"]


@pytest.mark.parametrize("key", ["aws:secretKey", "nomad:secretId", "nomad-csi:secretId"])
def test_a_providers_secret_in_the_stacks_file_is_named_and_not_decrypted(tmp_path: Path, key: str) -> None:
    (tmp_path / "Pulumi.prod.yaml").write_text(f"config:\n  {key}: {{secure: v1:abc}}\n", encoding="utf-8")
    with pytest.raises(OperateError, match=f"{key} as a secret"):
        told()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"config: [s3cret\n", "cannot be read"),
        (b"config: s3cret\xff", "cannot be read"),
        (b"config: 5\n", r"Pulumi\.prod\.yaml has a config that is not a map"),
    ],
)
def test_a_stacks_file_that_cannot_be_read_is_an_error(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "Pulumi.prod.yaml").write_bytes(content)
    with pytest.raises(OperateError, match=said) as refused:
        told()
    assert "s3cret" not in str(refused.value)


TWO_MODES = [{"AccessMode": "single-node-writer", "AttachmentMode": mode} for mode in ("file-system", "block-device")]


@pytest.mark.parametrize(
    ("other", "key"),
    [
        ({"RequestedCapabilities": TWO_MODES}, "capability"),
        (
            {"RequestedCapabilities": [{"AccessMode": "multi-node-multi-writer", "AttachmentMode": "block-device"}]},
            "capability",
        ),
        ({"MountOptions": {"FSType": "ext4", "MountFlags": ["[REDACTED]"]}}, "mount_flags"),
        ({"MountOptions": {"FSType": "btrfs"}}, "fs_type"),
        ({"Capacity": 1 << 30}, "capacity"),
        ({"PluginID": "another"}, "plugin_id"),
        ({"ExternalID": "vol-0000000000000000b"}, "external_id"),
        ({"RequestedTopologies": {"Required": [{"Segments": {ZONE_KEY: "us-west-2b"}}]}}, "topology_request"),
        ({"ID": "set[0]"}, "id"),
    ],
)
def test_what_no_setting_has_is_named_and_its_volume_left_out(
    nomad: FakeNomad, capsys: pytest.CaptureFixture[str], other: dict[str, Any], key: str
) -> None:
    have(nomad, volume(**other))
    with pytest.raises(OperateError, match="no volume can be adopted"):
        run("--json")
    said = json.loads(capsys.readouterr().out)
    assert key in [gap["key"] for gap in said["notExpressed"] if gap["leftOut"]]
    assert said["settings"]["volumes"] == []


def test_a_volume_of_another_stack_is_left_to_it(nomad: FakeNomad, capsys: pytest.CaptureFixture[str]) -> None:
    path = "var/nomad/jobs/nomad-stateful/volumes/ledger"
    nomad.put(path, {"Items": {"stack": "organization/nomad-stateful/other", "owner": "1"}, "ModifyIndex": 1})
    with pytest.raises(OperateError, match="no volume can be adopted"):
        run()
    assert "claim is organization/nomad-stateful/other: it belongs to that stack" in capsys.readouterr().out


def test_settings_are_written_once_and_what_the_file_had_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "Pulumi.prod.yaml"
    path.write_text("encryptionsalt: v1:abc\nconfig:\n  aws:region: us-west-2\n", encoding="utf-8")
    before = path.read_text(encoding="utf-8")
    with pytest.raises(OperateError, match="add --yes"):
        run("--write")
    capsys.readouterr()
    run("--write", "--dry-run", "--json")
    printed = capsys.readouterr()
    assert json.loads(printed.out)["settings"]["adopt"] == ["ledger"]
    assert "would write Pulumi.prod.yaml; nothing was changed" in printed.err
    assert path.read_text(encoding="utf-8") == before
    run("--write", "--yes")
    written = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert (written["encryptionsalt"], written["config"]["aws:region"]) == ("v1:abc", "us-west-2")
    assert written["config"]["nomad-stateful:adopt"] == ["ledger"]
    with pytest.raises(OperateError, match="nomad-stateful:volumes already: nothing was written"):
        run("--write", "--yes")


def test_what_the_file_got_before_the_answer_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "Pulumi.prod.yaml"
    got = "config:\n  aws:region: us-west-2\n"
    monkeypatch.setattr(frame, "confirm", lambda *_, **__: path.write_text(got, encoding="utf-8"))
    run("--write")
    written = yaml.safe_load(path.read_text(encoding="utf-8"))["config"]
    assert (written["aws:region"], written["nomad-stateful:adopt"]) == ("us-west-2", ["ledger"])


def test_a_stack_that_is_named_with_its_organization_has_the_same_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stack, "chosen", lambda: "organization/prod")
    run("--write", "--yes")
    assert "nomad-stateful:volumes" in (tmp_path / "Pulumi.prod.yaml").read_text(encoding="utf-8")


def test_several_namespaces_need_a_choice(nomad: FakeNomad) -> None:
    have(nomad, volume(), volume("other", Namespace="apps"))
    with pytest.raises(OperateError, match="apps, default, and a stack has one"):
        run()
    said = told("--namespace", "default")
    assert said["settings"]["adopt"] == ["ledger"]
    assert [(gap["subject"], gap["key"]) for gap in said["notExpressed"]] == [("volume other", "namespace")]


def test_a_terraform_state_has_what_nomad_hides_and_says_what_to_hand_over(nomad: FakeNomad, tmp_path: Path) -> None:
    have(nomad, volume(MountOptions={"FSType": "ext4", "MountFlags": ["[REDACTED]"]}))
    said = told("--terraform-state", str(terraform(tmp_path)))
    assert said["settings"]["volumes"][0]["mountFlags"] == ["noatime"]
    assert said["afterwards"] == ["terraform state rm 'nomad_csi_volume_registration.this[\"a\"]'"]
    assert said["untouched"][-2:] == ["aws_ebs_volume.this", "module.csi.nomad_job.this"]
    (gap,) = said["notExpressed"]
    assert (gap["subject"], gap["value"], gap["leftOut"]) == ("aws_ebs_volume.this", "vol-0000000000000000c", False)


def test_a_terraform_state_of_another_cluster_is_noticed(tmp_path: Path) -> None:
    said = told("--terraform-state", str(terraform(tmp_path, volume_id="elsewhere")))
    assert said["notExpressed"][0]["why"] == "Nomad has no such volume in namespace default"
    assert said["afterwards"] == []


def test_what_is_no_state_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OperateError, match="its format is 3, and 4 is read"):
        run("--terraform-state", str(terraform(tmp_path, version=3)))
    (tmp_path / "text").write_text("no state")
    with pytest.raises(OperateError, match="it cannot be read"):
        run("--terraform-state", str(tmp_path / "text"))
