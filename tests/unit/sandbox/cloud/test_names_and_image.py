"""Names that EC2 gives, and the accounts of the machine image."""

from __future__ import annotations

import pytest

from sandbox.machine import ami, naming


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


HOST_PASSWD = """\
root:x:0:0:root:/root:/bin/bash
systemd-coredump:x:999:997::/:/usr/sbin/nologin
mysql:x:104:105::/nonexistent:/bin/false
someone:x:1000:1000::/home/someone:/bin/sh
"""


def test_the_accounts_of_the_image_replace_those_of_the_host_that_collide() -> None:
    lines = ami.passwd(HOST_PASSWD).splitlines()
    names = [line.split(":")[0] for line in lines]
    assert names == ["root", "someone", "mysql", "dbadmin"]
    assert lines[2].split(":")[2:4] == ["999", "999"]


def test_the_second_account_of_uid_zero_leaves_root_first() -> None:
    zero = [line.split(":")[0] for line in ami.passwd(HOST_PASSWD).splitlines() if line.split(":")[2] == "0"]
    assert zero == ["root", "dbadmin"]


def test_the_group_of_mysql_is_the_only_one_added() -> None:
    assert ami.group("root:x:0:\nadm:x:4:\n").splitlines() == ["root:x:0:", "adm:x:4:", "mysql:x:999:"]
