"""The calls that later versions of the EBS driver make, judged by the policy of each version."""

import os
from collections.abc import Iterator

import pytest

from nomad_stateful.drivers.ebs_policy import Mode, policy
from sandbox.standins.ebs_csi_driver.version import VERSION_VARIABLE
from tests.iam import evaluator, record
from tests.iam.evaluator import Request
from tests.sandbox.driver_life import led
from tests.sandbox.ebs_programs import STAND_IN
from tests.sandbox.test_driver_permissions import PLACE, denied

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
    pytest.mark.skipif(bool(evaluator.missing()), reason=f"missing here: {evaluator.missing()}"),
]

NEWEST = "v1.64.0"


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Request]]:
    program = ("env", f"{VERSION_VARIABLE}={NEWEST}", *STAND_IN)
    with led(program, tmp_path_factory.mktemp("iam")) as life:
        yield record.requests(call for calls in life.values() for call in calls)


def test_what_a_version_calls_is_allowed_by_its_own_policy(asked: list[Request]) -> None:
    assert denied(policy(set(Mode), **PLACE, version=NEWEST), asked) == set()


@pytest.mark.parametrize(
    ("version", "missing"),
    [
        ("v1.51.0", {("ec2:DescribeInstanceTypes", "")}),
        ("v1.48.0", {("ec2:DescribeInstanceTypes", ""), ("ec2:CreateVolume", "volume")}),
    ],
)
def test_an_earlier_versions_policy_lacks_exactly_the_later_calls(
    version: str, missing: set[tuple[str, str]], asked: list[Request]
) -> None:
    assert denied(policy(set(Mode), **PLACE, version=version), asked) == missing
