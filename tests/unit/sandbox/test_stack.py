import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sandbox.commands import summary
from sandbox.machine import orphans
from sandbox.settings import PROJECT, parse_settings
from sandbox.stack import stack, strays
from sandbox.stack.stack import Update
from sandbox.stack.stack_file import put_salt, read_salt

SETTINGS = parse_settings({}, Path("/nowhere"))
OUTPUTS: dict[str, Any] = {
    "volumes": {"mysql": {"id": "vol-1", "zone": "us-west-2a", "sizeGib": 1}},
    "plugins": {
        "aws-ebs0": {"id": "aws-ebs0", "health": {"controllers_healthy": 2, "zones_healthy": {"us-west-2a": 2}}}
    },
    "mysql": {"host": "10.173.86.10", "port": 3306, "user": "root"},
    "mysqlPassword": "[secret]",
}


def test_the_summary_names_volumes_health_by_zone_the_address_and_what_to_do_next() -> None:
    text = summary.render(SETTINGS, OUTPUTS, changed=True, elapsed_s=31.4)
    for words in (
        "vol-1",
        "us-west-2a  2 healthy",
        "10.173.86.10:3306",
        "make mysql",
        "make verify",
        "make down",
        "31 s",
    ):
        assert words in text
    assert "Nothing changed" not in text


def test_a_run_that_changed_nothing_says_so() -> None:
    assert summary.render(SETTINGS, OUTPUTS, changed=False, elapsed_s=3).startswith("Nothing changed")


def test_an_update_has_changed_something_unless_everything_is_the_same() -> None:
    assert not Update({"same": 21}).changed
    assert Update({"same": 20, "update": 1}).changed


@pytest.mark.parametrize("protected", [True, False])
def test_a_destroy_that_a_protected_resource_refuses_begins_with_a_preview(
    protected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[tuple[str, ...]] = []

    def show(*words: str) -> int:
        shown.append(words)
        return 0

    made = stack.Stack.__new__(stack.Stack)
    monkeypatch.setattr(made, "resources", lambda: [{"type": "aws:ebs/volume:Volume", "protect": protected}])
    monkeypatch.setattr(made, "_show", show)
    made.destroy()

    assert [("--skip-preview" in words) for words in shown] == [not protected]


def test_a_salt_comes_and_goes_without_touching_any_other_line(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.dev.yaml"
    text = "# a comment\n\nconfig:\n  a: 1  # kept\n"
    file.write_text(text)
    put_salt(file, "v1:one")
    assert read_salt(file) == "v1:one"
    put_salt(file, "v1:two")
    assert file.read_text() == f"{text}encryptionsalt: v1:two\n"
    put_salt(file, "")
    assert file.read_text() == text
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_the_committed_stack_file_has_no_salt() -> None:
    committed = subprocess.run(["git", "show", "HEAD:Pulumi.dev.yaml"], cwd=PROJECT, capture_output=True, check=False)
    assert b"encryptionsalt" not in committed.stdout


def test_the_sandboxs_stack_is_the_example_but_for_the_marked_lines() -> None:
    example, own = (
        [line for line in (PROJECT / name).read_text(encoding="utf-8").splitlines() if "encryptionsalt:" not in line]
        for name in ("Pulumi.aws.yaml.example", "Pulumi.dev.yaml")
    )
    unmarked, marked = (
        [[line for line in file if ("# <" in line) is by] for file in (example, own)] for by in (False, True)
    )
    assert unmarked[0] == unmarked[1]
    named, more = ([line.partition(":")[0] for line in lines] for lines in marked)
    # The sandbox's stack may set more than the example.
    rest = iter(more)
    assert [name for name in named if name not in rest] == []


def process(proc: Path, pid: int, parent: int, name: str, words: list[str], environ: str) -> None:
    folder = proc / str(pid)
    folder.mkdir()
    (folder / "cmdline").write_text("\0".join(words))
    (folder / "environ").write_text(environ)
    (folder / "stat").write_text(f"{pid} ({name}) S {parent} 0")


def test_only_children_of_a_dead_engine_of_this_sandbox_are_orphans(tmp_path: Path) -> None:
    home = Path("/a/.sandbox")
    ours, theirs = f"X=1\0NOMAD_STATEFUL_SANDBOX_HOME={home}\0", "NOMAD_STATEFUL_SANDBOX_HOME=/b/.sandbox\0"
    host = ["/x/pulumi-language-python", "-root=/a"]
    process(tmp_path, 1, 0, "init", ["init"], "")
    process(tmp_path, 10, 1, "pulumi-language", host, ours)
    process(tmp_path, 11, 10, "python", ["/v/python", "/x/pulumi-language-python-exec"], ours)
    process(tmp_path, 12, 1, "python", ["/v/python", "-m", "sandbox.standins.plugins.aws", "127.0.0.1:1"], ours)
    process(tmp_path, 13, 1, "python", ["/v/python", "-P", "-m", "nomad_stateful.provider", "127.0.0.1:1"], ours)
    process(tmp_path, 14, 1, "python", ["/v/python", "-P", "-O", "-m", "nomad_stateful.provider", "127.0.0.1:1"], ours)
    process(tmp_path, 16, 1, "python", ["/v/python", "-u", "-m", "pulumi.policy", "127.0.0.1:1"], ours)
    process(tmp_path, 15, 1, "pulumi-resource", ["/h/pulumi-resource-nomad", "127.0.0.1:1"], ours)
    process(tmp_path, 20, 1, "pulumi-language", host, theirs)
    process(tmp_path, 30, 1, "pulumi", ["pulumi", "up"], ours)
    process(tmp_path, 31, 30, "pulumi-language", host, ours)
    process(tmp_path, 40, 1, "python", ["/v/python", "-m", "sandbox.cloud"], ours)
    process(tmp_path, 41, 1, "python", ["/v/python", "-m", "sandbox.standins.ebs_csi_driver", "node"], ours)
    process(tmp_path, 42, 1, "python", ["/v/python", "script.py", "-m", "nomad_stateful.provider"], ours)
    process(tmp_path, 50, 1, "sh", ["sh"], ours)
    assert orphans.orphans(home, tmp_path) == [10, 11, 12, 13, 14, 15, 16]


class Ec2:
    def __init__(self, volumes: list[dict[str, Any]]) -> None:
        self.volumes = volumes
        self.deleted: list[str] = []

    def describe_volumes(self, Filters: Any) -> dict[str, Any]:  # noqa: N803
        return {"Volumes": self.volumes}

    def delete_volume(self, VolumeId: str) -> None:  # noqa: N803
        self.deleted.append(VolumeId)


def test_a_volume_of_a_cut_off_create_is_deleted_and_every_other_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def volume(identity: str, size: int, name: str) -> dict[str, Any]:
        tags = [{"Key": "Name", "Value": name}]
        return {"VolumeId": identity, "AvailabilityZone": "us-west-2a", "Size": size, "Tags": tags}

    ec2 = Ec2(
        [volume("vol-stray", 1, "a"), volume("vol-known", 1, "a"), volume("vol-big", 2, "a"), volume("vol-b", 1, "b")]
    )
    monkeypatch.setattr(strays, "client", lambda *_: ec2)
    inputs = {"availabilityZone": "us-west-2a", "size": 1, "tags": {"Name": "a"}}
    cut_off = [{"type": "creating", "resource": {"type": "aws:ebs/volume:Volume", "inputs": inputs}}]
    said = strays.remove(SETTINGS, cut_off, [{"id": "vol-known"}])
    assert ec2.deleted == ["vol-stray"]
    assert "vol-stray" in said[0]


def test_a_volume_that_a_failed_create_made_after_all_is_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    class Account(Ec2):
        def describe_volumes(self, Filters: Any) -> dict[str, Any]:  # noqa: N803
            asked.extend(Filters)
            return super().describe_volumes(Filters)

    ec2 = Account([{"VolumeId": "vol-unanswered"}])
    monkeypatch.setattr(strays, "client", lambda *_: ec2)
    guards = [{"type": "nomad-csi:index:VolumeGuard", "outputs": {"guardId": name}} for name in ("g1", "g2")]
    made = {"type": "aws:ebs/volume:Volume", "outputs": {"tags": {"nomad-stateful-guard": "g1"}}}
    assert "vol-unanswered" in strays.remove_unanswered(SETTINGS, [*guards, made])[0]
    assert ec2.deleted == ["vol-unanswered"]
    assert asked[0] == {"Name": "tag:nomad-stateful-guard", "Values": ["g2"]}, "only of the guard without a volume"


def test_an_account_is_not_asked_where_every_guard_has_its_volume(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strays, "client", lambda *_: pytest.fail("it was asked"))
    guard = {"type": "nomad-csi:index:VolumeGuard", "outputs": {"guardId": "g1"}}
    made = {"type": "aws:ebs/volume:Volume", "outputs": {"tags": {"nomad-stateful-guard": "g1"}}}
    assert strays.remove_unanswered(SETTINGS, [guard, made]) == []


def test_a_lock_is_held_by_a_pulumi_that_lives_and_not_by_one_that_nobody_has_waited_for(tmp_path: Path) -> None:
    program, lock = tmp_path / "pulumi", tmp_path / "lock.json"
    shutil.copy("/bin/cat", program)
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        # Popen returns before the kernel has given the process its name: one that answers has it.
        process.stdin.write(b"\n")
        assert process.stdout.readline() == b"\n"
        lock.write_text(json.dumps({"pid": process.pid}))
        assert stack.lock_holder(lock) == process.pid
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert Path(f"/proc/{process.pid}/comm").read_text() == "pulumi\n"
        assert stack.lock_holder(lock) == 0
