"""Names that EC2 gives."""

from __future__ import annotations

import pytest

from sandbox.machine import naming


def test_a_volume_is_linked_under_the_name_that_udev_gives_it() -> None:
    assert naming.by_id_name("vol-0123456789abcdef0") == "nvme-Amazon_Elastic_Block_Store_vol0123456789abcdef0"


def test_host_names_are_those_of_the_region() -> None:
    assert naming.private_dns_name("10.1.2.3", "us-west-2") == "ip-10-1-2-3.us-west-2.compute.internal"
    assert naming.private_dns_name("10.1.2.3", "us-east-1") == "ip-10-1-2-3.ec2.internal"


def test_a_link_name_fits_the_kernel_even_for_the_longest_sandbox_name() -> None:
    assert len(naming.link_name("abcdefgh", "i-0123456789abcdef0")) <= 15


@pytest.mark.parametrize("device", ["/dev/sdf", "/dev/xvdba", "/dev/xvdf", "/dev/sdf1"])
def test_device_names_of_ec2_are_accepted(device: str) -> None:
    assert naming.is_device_name(device)


@pytest.mark.parametrize("device", ["sdf", "/dev/nvme1n1", "/dev/loop0", "/dev/sd", "/dev/xvdba/", ""])
def test_other_device_names_are_not(device: str) -> None:
    assert not naming.is_device_name(device)
