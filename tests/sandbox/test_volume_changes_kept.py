"""What keeps a volume whose entry is gone or another, on the real engine: protection, a set's first, `retain`."""

from collections.abc import Iterator

import pytest

from tests.sandbox.changing_volumes import (
    Config,
    changed,
    edit,
    named,
    previewed,
    pulumi,
    registered,
    restore,
    stack_with_rows,
    volume_id,
    with_volume,
    without_volume,
)
from tools.trial.running import Running, eventually

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with stack_with_rows(tmp_path_factory.mktemp("project")) as running:
        yield running


def test_a_protected_volume_is_kept_from_it_before_anything_is_done(stack: Running) -> None:
    changed(stack, with_volume("mysql", protect=True, renamedFrom=None))
    at, ebs = stack.server_endpoint(), volume_id(stack, "mysql")
    before = edit(stack, named("db", instead_of="mysql"))
    for words in (["preview"], ["up", "--yes", "--skip-preview"]):
        said = pulumi(stack, *words, succeeds=False)
        assert "1 setting refused; nothing was created" in said
        assert (
            f"volumes.mysql is not set: EBS volume {ebs} (1 GiB, us-west-2a) would be deleted, and protect: true"
            in said
        )
        assert "give the entry db renamedFrom: mysql" in said
    assert stack.server_endpoint().allocation_id == at.allocation_id
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
