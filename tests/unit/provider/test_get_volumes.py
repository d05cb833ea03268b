"""The volumes that a stack has in EC2, against moto."""

from typing import Any

import pytest

from nomad_stateful.ebs import tags
from nomad_stateful.errors import ProviderError
from nomad_stateful.provider.functions.found import GetVolumes
from nomad_stateful.waiting import Context
from tests.unit.aws import PLACE, REGION

STACK = "nomad-stateful/dev"


def make(ec2: Any, **given: str) -> str:
    marked = tags.listed({key.replace("_", "-"): value for key, value in given.items()})
    specification: Any = [{"ResourceType": "volume", "Tags": marked}]
    made = ec2.create_volume(AvailabilityZone=f"{REGION}a", Size=3, VolumeType="gp3", TagSpecifications=specification)
    return str(made["VolumeId"])


def volumes(account: str = PLACE.account_id) -> list[dict[str, Any]]:
    asked = {"stack": STACK, "region": REGION, "accountId": account}
    found: list[dict[str, Any]] = GetVolumes().invoke(Context(), asked)["volumes"]
    return found


def test_a_stacks_volumes_are_found_by_their_tag_alone(ec2: Any) -> None:
    ours = make(ec2, nomad_stateful_stack=STACK, Name="mysql", nomad_stateful_guard="g1")
    make(ec2, nomad_stateful_stack="nomad-stateful/prod", Name="mysql")
    make(ec2, Name="mysql", nomad_stateful_guard="g2")
    (found,) = volumes()
    assert {key: found[key] for key in ("id", "name", "zone", "sizeGib", "type", "state", "guardId")} == {
        "id": ours,
        "name": "mysql",
        "zone": f"{REGION}a",
        "sizeGib": 3,
        "type": "gp3",
        "state": "available",
        "guardId": "g1",
    }
    assert found["tags"] == {"nomad-stateful-stack": STACK, "Name": "mysql", "nomad-stateful-guard": "g1"}


def test_a_stack_without_volumes_has_none(ec2: Any) -> None:
    gone = make(ec2, nomad_stateful_stack=STACK, Name="mysql")
    ec2.delete_volume(VolumeId=gone)
    assert volumes() == []


@pytest.mark.usefixtures("ec2")
def test_another_accounts_word_is_not_taken() -> None:
    with pytest.raises(ProviderError, match="is in account 999999999999, but the AWS credentials are of account 123"):
        volumes("999999999999")
