"""Sizes, names, zones, tags and limits: what the driver decides without asking anybody."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.standins.csi.errors import CsiError
from sandbox.standins.csi.metadata import NodeIdentity
from sandbox.standins.ebs_csi_driver import capacity, tags
from sandbox.standins.ebs_csi_driver.cloud.volume_types import iops_for
from sandbox.standins.ebs_csi_driver.device_names import candidates, free_name
from sandbox.standins.ebs_csi_driver.limits import max_volumes
from sandbox.standins.ebs_csi_driver.parameters import check_context, read_modification, read_volume_parameters
from sandbox.standins.ebs_csi_driver.topology import node_segments, pick_zone

GIB = 1024**3


@pytest.mark.parametrize(
    ("required", "limit", "gib"),
    [(1, 0, 1), (GIB, 0, 1), (GIB + 1, 0, 2), (0, 0, 100), (0, 20 * GIB, 20), (10 * GIB, 20 * GIB, 10)],
)
def test_sizes_are_rounded_up_to_whole_gib(required: int, limit: int, gib: int) -> None:
    assert capacity.requested_gib(required, limit) == gib


@pytest.mark.parametrize(("required", "limit"), [(GIB + 1, GIB + 2), (0, GIB - 1), (-1, 0)])
def test_a_range_without_a_whole_gib_is_refused(required: int, limit: int) -> None:
    with pytest.raises(CsiError, match=r"capacity|limit"):
        capacity.requested_gib(required, limit)


@given(st.integers(min_value=1, max_value=64 * 1024 * GIB))
def test_rounding_never_loses_and_never_adds_a_whole_gib(size: int) -> None:
    gib = capacity.round_up_gib(size)
    assert 0 <= gib * GIB - size < GIB


def test_device_names_follow_ec2s_order_and_end_where_ec2_ends() -> None:
    names = list(candidates())
    assert (names[0], names[25], names[26], names[-1]) == ("/dev/xvdaa", "/dev/xvdaz", "/dev/xvdba", "/dev/xvddx")
    assert len(names) == len(set(names)) == 102


def test_a_name_in_use_in_any_spelling_is_passed_over() -> None:
    assert free_name({"/dev/sda1", "/dev/sdaa", "xvdab", "/dev/xvdac"}) == "/dev/xvdad"
    assert free_name(set(candidates())) is None


def test_the_preferred_zone_wins_over_the_requisite_one() -> None:
    preferred = [{"kubernetes.io/os": "linux"}, {"topology.ebs.csi.aws.com/zone": "b"}]
    requisite = [{"topology.kubernetes.io/zone": "a"}]
    assert pick_zone(preferred, requisite) == "b"
    assert pick_zone([], requisite) == "a"
    assert pick_zone([], []) == ""


def test_a_node_reports_upstreams_three_keys() -> None:
    assert node_segments("us-west-2a") == {
        "topology.ebs.csi.aws.com/zone": "us-west-2a",
        "topology.kubernetes.io/zone": "us-west-2a",
        "kubernetes.io/os": "linux",
    }


def test_a_volume_is_tagged_with_its_name_and_its_driver() -> None:
    assert tags.volume_tags("v", {"Team": "x"}) == {
        "CSIVolumeName": "v",
        "ebs.csi.aws.com/cluster": "true",
        "Team": "x",
    }


@pytest.mark.parametrize("key", ["kubernetes.io/x", "aws:x", "CSIVolumeName", "ebs.csi.aws.com/cluster", "", "k" * 129])
def test_reserved_and_overlong_tags_are_refused(key: str) -> None:
    with pytest.raises(tags.TagError):
        tags.check_extra_tags({key: "value"})


def test_parameters_are_read_in_any_case_and_kms_means_encrypted() -> None:
    read = read_volume_parameters({"Type": "io2", "IOPS": "500", "kmsKeyId": "alias/x"}, {})
    assert (read.volume_type, read.iops, read.encrypted) == ("io2", 500, True)


def test_mutable_parameters_win() -> None:
    read = read_volume_parameters({"type": "gp2", "iops": "1"}, {"type": "gp3", "iops": "4000"})
    assert (read.volume_type, read.iops) == ("gp3", 4000)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"colour": "blue"}, "Invalid parameter key colour"),
        ({"csi.storage.k8s.io/pvc/name": "p"}, "Invalid parameter key csi.storage.k8s.io/pvc/name"),
        ({"iops": "many"}, "not a whole number"),
        ({"blockExpress": "true"}, "does not have the parameter blockExpress"),
        ({"blockSize": "4096"}, "does not have the parameter blockSize"),
        ({"tagSpecification_1": "novalue"}, "write key=value"),
        ({"tagSpecification_1": "a={{ .PVCName }}"}, "template"),
        ({"tagSpecification_1": "aws:a=b"}, "reserved"),
    ],
)
def test_a_wrong_parameter_is_named(parameters: dict[str, str], said: str) -> None:
    with pytest.raises(CsiError, match=said):
        read_volume_parameters(parameters, {})


@pytest.mark.parametrize("key", ["partition", "blocksize"])
def test_a_volume_attribute_that_the_stand_in_lacks_is_named(key: str) -> None:
    with pytest.raises(CsiError, match=f"does not have the volume attribute {key}"):
        check_context({key: "1", "storage.kubernetes.io/csiProvisionerIdentity": "x"})


def test_an_unknown_mutable_parameter_is_named() -> None:
    with pytest.raises(CsiError, match="encrypted"):
        read_modification({"encrypted": "true"})


@pytest.mark.parametrize(
    ("volume_type", "gib", "iops", "per_gib", "expected"),
    [
        ("gp3", 10, 0, 0, 0),
        ("gp3", 10, 4000, 0, 4000),
        ("gp3", 10, 0, 10, 3000),
        ("io1", 10, 0, 1000, 500),
        ("io2", 100, 0, 5, 500),
        ("gp2", 10, 0, 0, 0),
    ],
)
def test_iops_follow_the_types_limits(volume_type: str, gib: int, iops: int, per_gib: int, expected: int) -> None:
    assert iops_for(volume_type, gib, iops, per_gib, may_raise=False) == expected


@pytest.mark.parametrize(
    ("volume_type", "gib", "iops", "per_gib", "asked"),
    [("gp2", 10, 100, 0, 0), ("st1", 500, 0, 5, 0), ("io1", 4, 0, 1, 4), ("io2", 10, 0, 0, 0)],
)
def test_iops_that_the_type_cannot_have_are_left_out_or_left_to_ec2_to_refuse(
    volume_type: str, gib: int, iops: int, per_gib: int, asked: int
) -> None:
    assert iops_for(volume_type, gib, iops, per_gib, may_raise=False) == asked


@pytest.mark.parametrize(("volume_type", "said"), [("gp9", 'invalid AWS VolumeType "gp9"'), ("io2", "not both")])
def test_an_unknown_type_and_iops_given_twice_are_refused(volume_type: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        iops_for(volume_type, 10, 100, 5, may_raise=False)


def test_too_few_iops_are_raised_where_that_is_allowed() -> None:
    assert iops_for("io1", 4, 0, 1, may_raise=True) == 100


@pytest.mark.parametrize(
    ("instance_type", "interfaces", "expected"), [("m5.large", 1, 26), ("t3.medium", 3, 24), ("t3.nano", 40, 1)]
)
def test_volumes_have_the_slots_that_interfaces_and_the_root_leave(
    instance_type: str, interfaces: int, expected: int
) -> None:
    identity = NodeIdentity("i-1", instance_type, "a", "r", interfaces, block_device_mappings=0)
    assert max_volumes(identity, -1, -1) == expected


@pytest.mark.parametrize("instance_type", ["m4.large", "m5d.large", "m7i.large"])
def test_an_instance_type_with_other_slots_is_refused_by_name(instance_type: str) -> None:
    identity = NodeIdentity("i-1", instance_type, "a", "r", network_interfaces=1, block_device_mappings=0)
    with pytest.raises(CsiError, match=f"does not have the limits of instance type {instance_type}"):
        max_volumes(identity, -1, -1)
    assert max_volumes(identity, 7, -1) == 7


def test_flags_decide_the_volume_limit_before_the_table() -> None:
    identity = NodeIdentity("i-1", "m5.large", "a", "r", network_interfaces=1, block_device_mappings=2)
    assert max_volumes(identity, 7, -1) == 7
    assert max_volumes(identity, 0, -1) == 0
    assert max_volumes(identity, -1, 5) == 22
    assert max_volumes(identity, -1, -1) == 24
