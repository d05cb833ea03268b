"""What becomes of volumes under other settings, on the real engine: rows stay, or it is said, or it is refused.

On the official nomad plugin, where it is there; `make nightly` has the same on the embedded one.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from tests import official_parts
from tools.trial.running import Running, eventually

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad]

Config = dict[str, Any]
Edit = Callable[[Config], None]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running.prepare(tmp_path_factory.mktemp("project"))
    with running.up(*official_parts.words()):
        at = running.mysql_endpoint()
        running.sql(
            at, "CREATE DATABASE t", "CREATE TABLE t.rows (id INT PRIMARY KEY)", "INSERT INTO t.rows VALUES (7)"
        )
        yield running


def edit(stack: Running, change: Edit) -> Config:
    """Changes the stack's settings; what they were before."""
    path = stack.project / "Pulumi.dev.yaml"
    before: Config = yaml.safe_load(path.read_text())
    after: Config = yaml.safe_load(path.read_text())
    change({key.removeprefix("nomad-stateful:"): value for key, value in after["config"].items()})
    path.write_text(yaml.safe_dump(after, sort_keys=False))
    return before


def restore(stack: Running, before: Config) -> None:
    (stack.project / "Pulumi.dev.yaml").write_text(yaml.safe_dump(before, sort_keys=False))


def pulumi(stack: Running, *words: str, succeeds: bool = True) -> str:
    """What pulumi prints, its lines as one."""
    done = stack.run("pulumi", *words, "--non-interactive", "--diff=false", timeout_s=600)
    assert (done.returncode == 0) is succeeds, done.stdout + done.stderr
    return re.sub(r"\s+", " ", done.stdout + done.stderr)


def changed(stack: Running, change: Edit) -> str:
    """Makes a change; what the preview said of it. Afterwards nothing is left to do, and the rows are there."""
    edit(stack, change)
    said = pulumi(stack, "preview")
    pulumi(stack, "up", "--yes", "--skip-preview")
    pulumi(stack, "preview", "--refresh", "--expect-no-changes")
    assert stack.sql(stack.mysql_endpoint(), "SELECT id FROM t.rows") == [(7,)]
    return said


def previewed(stack: Running, change: Edit, *, succeeds: bool = True) -> str:
    """What a preview says of a change that is not made."""
    before = edit(stack, change)
    try:
        return pulumi(stack, "preview", succeeds=succeeds)
    finally:
        restore(stack, before)


def volume_id(stack: Running, name: str) -> str:
    return str(stack.outputs()["volumes"][name]["id"])


def registered(stack: Running) -> dict[str, str]:
    listed = json.loads(stack.run("nomad", "operator", "api", "/v1/volumes?type=csi").stdout)
    return {one["ID"]: one["ExternalID"] for one in listed}


def named(name: str, *, instead_of: str, **more: Any) -> Edit:
    """Gives a volume, and what MySQL is on, another name."""

    def change(config: Config) -> None:
        volume = next(one for one in config["volumes"] if one["name"] == instead_of)
        volume.pop("renamedFrom", None)
        volume.update(name=name, **more)
        if config["mysql"]["volume"] == instead_of:
            config["mysql"]["volume"] = name

    return change


def with_volume(name: str, **more: Any) -> Edit:
    return lambda config: next(one for one in config["volumes"] if one["name"] == name).update(more)


def without_volume(name: str) -> Edit:
    def change(config: Config) -> None:
        config["volumes"][:] = [one for one in config["volumes"] if one["name"] != name]

    return change


@pytest.mark.parametrize(("earlier", "name"), [("mysql", "db"), ("db", "mysql")], ids=["there", "and back"])
def test_a_renamed_volume_is_the_same_ebs_volume_with_the_rows_on_it(stack: Running, earlier: str, name: str) -> None:
    ebs = volume_id(stack, earlier)
    said = changed(stack, named(name, instead_of=earlier, renamedFrom=earlier))
    assert f"volumes.{name}.name is {name}: volume {earlier} stays EBS volume {ebs} (1 GiB, us-west-2a)" in said
    assert registered(stack)[name] == ebs
    assert earlier not in registered(stack)
    tags = stack.ec2.describe_volumes(VolumeIds=[ebs])["Volumes"][0]["Tags"]
    assert {"Key": "Name", "Value": name} in tags


def test_a_rename_without_the_earlier_name_says_what_would_be_lost_and_what_keeps_it(stack: Running) -> None:
    ebs = volume_id(stack, "mysql")
    said = previewed(stack, named("db", instead_of="mysql"))
    assert (
        f"warning: volumes.mysql is not set: EBS volume {ebs} (1 GiB, us-west-2a) is deleted with what is on it: no "
        "final snapshot is taken of it (finalSnapshot). Put the entry back to keep it; if it has another name now, "
        "give the entry db renamedFrom: mysql"
    ) in said


def test_a_protected_volume_is_kept_from_it_before_anything_is_done(stack: Running) -> None:
    changed(stack, with_volume("mysql", protect=True, renamedFrom=None))
    at, ebs = stack.mysql_endpoint(), volume_id(stack, "mysql")
    before = edit(stack, named("db", instead_of="mysql"))
    for words in (["preview"], ["up", "--yes", "--skip-preview"]):
        said = pulumi(stack, *words, succeeds=False)
        assert "1 setting refused; nothing was created" in said
        assert (
            f"volumes.mysql is not set: EBS volume {ebs} (1 GiB, us-west-2a) would be deleted, and protect: true"
            in said
        )
        assert "give the entry db renamedFrom: mysql" in said
    assert stack.mysql_endpoint().allocation_id == at.allocation_id
    restore(stack, before)
    # Renamed with its earlier name it stays protected.
    said = previewed(stack, named("db", instead_of="mysql", renamedFrom="mysql"))
    assert f"volume mysql stays EBS volume {ebs}" in said
    changed(stack, with_volume("mysql", protect=False))


def test_a_single_volume_becomes_the_first_of_a_set_and_is_single_again(stack: Running) -> None:
    ebs = volume_id(stack, "archive")
    said = changed(stack, with_volume("archive", count=2))
    assert f"volumes.archive.name is archive[0]: volume archive stays EBS volume {ebs}" in said
    assert registered(stack)["archive[0]"] == ebs
    second = volume_id(stack, "archive[1]")

    def single(config: Config) -> None:
        next(one for one in config["volumes"] if one["name"] == "archive").pop("count")

    said = changed(stack, single)
    assert (
        f"volumes.archive[1] is not set: EBS volume {second} (1 GiB, us-west-2b) is deleted with what is on it" in said
    )
    assert {key: value for key, value in registered(stack).items() if "archive" in key} == {"archive": ebs}


def test_a_volume_that_moves_to_another_plugin_keeps_its_rows(stack: Running) -> None:
    ebs = volume_id(stack, "mysql")

    def second_plugin(config: Config) -> None:
        base = "/mnt/nomad/client/csi/node/aws-ebs1"
        config["plugins"].append(
            config["plugins"][0] | {"id": "aws-ebs1", "stagePublishBaseDir": base, "controllers": 1}
        )

    changed(stack, second_plugin)
    said = changed(stack, with_volume("mysql", plugin="aws-ebs1"))
    assert f"volumes.mysql.plugin is aws-ebs1: it moves from plugin aws-ebs0 and stays EBS volume {ebs}" in said
    assert stack.nomad.get("volume/csi/mysql")["PluginID"] == "aws-ebs1"
    assert volume_id(stack, "mysql") == ebs
    changed(stack, with_volume("mysql", plugin="aws-ebs0"))


def test_mysql_leaves_a_volume_that_is_registered_anew_in_the_same_update(stack: Running) -> None:
    def to_archive(config: Config) -> None:
        config["mysql"]["volume"] = "archive"

    def back(config: Config) -> None:
        config["mysql"]["volume"] = "mysql"
        with_volume("archive", mountFlags=["noatime", "nodiratime"])(config)

    before = edit(stack, to_archive)
    pulumi(stack, "up", "--yes", "--skip-preview")
    changed(stack, back)
    restore(stack, before)
    pulumi(stack, "up", "--yes", "--skip-preview")


def test_a_volume_that_its_driver_made_is_not_made_anew_under_way(stack: Running) -> None:
    dynamic = {"name": "dynamic", "provision": "plugin", "zone": "us-west-2a", "sizeGib": 1, "protect": False}
    changed(stack, lambda config: config["volumes"].append(dynamic))
    ebs = volume_id(stack, "dynamic")
    for change, key in (
        (named("other", instead_of="dynamic", renamedFrom="dynamic"), "volumes.other.name is other"),
        (with_volume("dynamic", plugin="aws-ebs1"), "volumes.dynamic.plugin is aws-ebs1"),
        (with_volume("dynamic", zone="us-west-2b"), "volumes.dynamic.zone is us-west-2b"),
    ):
        said = previewed(stack, change, succeeds=False)
        assert re.search(
            rf"{key}: EBS volume {ebs} \(.*, us-west-2a\) was made by its driver, which would delete", said
        )
    said = changed(stack, without_volume("dynamic"))
    assert f"volumes.dynamic is not set: its driver deletes EBS volume {ebs} (" in said


def test_a_retained_volume_stays_in_aws_when_it_leaves_the_stack(stack: Running) -> None:
    ebs = volume_id(stack, "archive")
    existing = {"provision": "existing", "externalId": ebs}

    def use_it(config: Config) -> None:
        for volume in config["volumes"]:
            if volume["name"] == "archive":
                volume.update(existing)
                # Of an existing volume, what Pulumi would make it with is refused by the settings.
                for key in ("sizeGib", "type", "encrypted", "retain"):
                    volume.pop(key, None)

    said = previewed(stack, use_it, succeeds=False)
    assert f"volumes.archive.provision is existing: EBS volume {ebs} (1 GiB, us-west-2b) is made by Pulumi" in said
    changed(stack, with_volume("archive", retain=True))
    said = changed(stack, without_volume("archive"))
    assert f"volumes.archive is not set: EBS volume {ebs} (1 GiB, us-west-2b) leaves the stack and stays in AWS" in said
    assert "archive" not in registered(stack)
    again = {"name": "archive", "zone": "us-west-2b", "sizeGib": 1, "protect": False}

    def available() -> bool | None:
        [found] = stack.ec2.describe_volumes(VolumeIds=[ebs])["Volumes"]
        return found["State"] == "available" or None

    eventually(available, 240, f"{ebs} is there, and free")
    # Put back, it is neither left aside for an empty one nor taken for something else.
    said = previewed(stack, lambda config: config["volumes"].append(again), succeeds=False)
    assert (
        f"volumes.archive is not in the stack's state: EC2 has EBS volume {ebs} (1 GiB, us-west-2b, available)" in said
    )
    said = previewed(
        stack, lambda config: config["volumes"].append(again | {"adopt": True, "sizeGib": 2}), succeeds=False
    )
    assert f"volumes.archive.sizeGib is 2: EBS volume {ebs} (1 GiB, us-west-2b, available) is adopted as it is" in said
    said = changed(stack, lambda config: config["volumes"].append(again | {"adopt": True}))
    assert f"volume archive is {ebs}, this stack's by its tags, with what is on it" in said
    assert registered(stack)["archive"] == ebs


def test_a_volume_that_the_state_lost_is_taken_up_by_its_guard(stack: Running) -> None:
    """As after an `up` that was killed between EC2's answer and the state."""
    ebs = volume_id(stack, "archive")
    edit(stack, with_volume("archive", adopt=False))
    exported = json.loads(stack.run("pulumi", "stack", "export").stdout)["deployment"]["resources"]
    [urn] = [one["urn"] for one in exported if one.get("id") == ebs and one["type"] == "aws:ebs/volume:Volume"]
    forgotten = stack.run("pulumi", "state", "delete", urn, "--yes", "--target-dependents", "--force")
    assert forgotten.returncode == 0, forgotten.stderr
    said = changed(stack, with_volume("archive", adopt=False))
    assert f"volume archive is {ebs}, this stack's by its tags" in said
    assert volume_id(stack, "archive") == ebs
