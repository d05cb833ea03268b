"""What EC2 allows for volumes."""

from __future__ import annotations

import pytest

from sandbox.cloud.limits import Performance, check_growth, check_volume
from sandbox.machine.errors import ApiError


def test_gp3_gets_its_defaults() -> None:
    assert check_volume("gp3", 10, None, None) == Performance(3000, 125)


def test_gp2_performance_follows_its_size() -> None:
    assert [check_volume("gp2", size, None, None).iops for size in (1, 100, 16384)] == [100, 300, 16000]


def test_io1_needs_iops() -> None:
    with pytest.raises(ApiError) as caught:
        check_volume("io1", 10, None, None)
    assert caught.value.code == "MissingParameter"


@pytest.mark.parametrize(
    ("volume_type", "size", "iops", "throughput", "code"),
    [
        ("gp3", 0, None, None, "InvalidParameterValue"),
        ("gp3", 16385, None, None, "InvalidParameterValue"),
        ("io1", 3, 100, None, "InvalidParameterValue"),
        ("st1", 124, None, None, "InvalidParameterValue"),
        ("gp3", 100, 2999, None, "InvalidParameterValue"),
        ("gp3", 100, 16001, None, "InvalidParameterValue"),
        ("gp3", 10, 5001, None, "InvalidParameterValue"),
        ("io1", 10, 501, None, "InvalidParameterValue"),
        ("gp3", 100, None, 124, "InvalidParameterValue"),
        ("gp3", 100, 3000, 751, "InvalidParameterValue"),
        ("st1", 125, 500, None, "InvalidParameterCombination"),
        ("io2", 10, 100, 125, "InvalidParameterCombination"),
        ("gp2", 10, 300, None, "InvalidParameterCombination"),
        ("gp9", 10, None, None, "UnknownVolumeType"),
    ],
)
def test_what_ec2_refuses_is_refused(
    volume_type: str, size: int, iops: int | None, throughput: int | None, code: str
) -> None:
    with pytest.raises(ApiError) as caught:
        check_volume(volume_type, size, iops, throughput)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("volume_type", "size", "iops", "throughput"),
    [("gp3", 1, 3000, 750), ("gp3", 32, 16000, 1000), ("io1", 4, 200, None), ("io2", 256, 256000, None)],
)
def test_the_limits_themselves_are_allowed(volume_type: str, size: int, iops: int, throughput: int | None) -> None:
    performance = check_volume(volume_type, size, iops, throughput)
    assert performance == Performance(iops, throughput)


def test_a_volume_may_grow_or_stay_but_not_shrink() -> None:
    check_growth(10, 10)
    check_growth(10, 11)
    with pytest.raises(ApiError, match="smaller"):
        check_growth(10, 9)
