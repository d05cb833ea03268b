"""What becomes of a volume under another name, or without its entry in the state, on the real engine: its rows stay.

`make nightly` has more of it (test_volume_changes_*.py), and with OFFICIAL both on the embedded plugin too.
"""

import json
from collections.abc import Iterator

import pytest

from tests.sandbox.changing_volumes import (
    changed,
    named,
    previewed,
    registered,
    stack_with_rows,
    volume_id,
    with_volume,
)
from tools.trial.running import Running

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with stack_with_rows(tmp_path_factory.mktemp("project")) as running:
        yield running


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


def test_a_volume_that_the_state_lost_is_taken_up_by_its_guard(stack: Running) -> None:
    """As after an `up` that was killed between EC2's answer and the state."""
    ebs = volume_id(stack, "archive")
    exported = json.loads(stack.run("pulumi", "stack", "export").stdout)["deployment"]["resources"]
    [urn] = [one["urn"] for one in exported if one.get("id") == ebs and one["type"] == "aws:ebs/volume:Volume"]
    forgotten = stack.run("pulumi", "state", "delete", urn, "--yes", "--target-dependents", "--force")
    assert forgotten.returncode == 0, forgotten.stderr
    said = changed(stack, with_volume("archive", adopt=False))
    assert f"volume archive is {ebs}, this stack's by its tags" in said
    assert volume_id(stack, "archive") == ebs
