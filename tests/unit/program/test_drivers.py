"""What is known about the EBS driver."""

import pytest

from nomad_stateful.drivers import ebs_policy
from nomad_stateful.drivers.ebs import DRIVER, controller_args, node_args
from nomad_stateful.drivers.model import DriverOptions, parse_version


def policy(**changes: object) -> dict[str, dict[str, object]]:
    document = ebs_policy.policy(
        {ebs_policy.Mode.REGISTER},
        partition="aws",
        region="us-west-2",
        account_id="123456789012",
        kms_key_arns=list(changes.get("keys", [])),  # type: ignore[call-overload]
    )
    return {statement["Sid"]: statement for statement in document["Statement"]}


def test_the_node_plugin_is_told_to_use_imds_only_where_its_version_knows_the_flag() -> None:
    assert "--metadata-sources=imds" in node_args(DriverOptions(plugin_id="p", version="v1.48.0"))
    assert "--metadata-sources=imds" not in node_args(DriverOptions(plugin_id="p", version="v0.10.1"))


def test_reserved_attachments_are_left_out_for_versions_that_do_not_know_them() -> None:
    new, old = (
        node_args(DriverOptions(plugin_id="p", version=v, reserved_volume_attachments=2))
        for v in ("v1.48.0", "v1.20.0")
    )
    assert "--reserved-volume-attachments=2" in new
    assert not [arg for arg in old if arg.startswith("--reserved")]


def test_a_further_argument_goes_to_the_role_that_knows_it() -> None:
    options = DriverOptions(
        plugin_id="p", version="v1.48.0", extra_args=("--batching", "--legacy-xfs", "--vmodule=a=1")
    )
    assert controller_args(options)[-2:] == ["--batching", "--vmodule=a=1"]
    assert node_args(options)[-2:] == ["--legacy-xfs", "--vmodule=a=1"]


def test_the_attach_limit_wins_over_reserved_attachments() -> None:
    args = node_args(
        DriverOptions(plugin_id="p", version="v1.48.0", volume_attach_limit=9, reserved_volume_attachments=2)
    )
    assert [arg for arg in args if "attach" in arg] == ["--volume-attach-limit=9"]


def test_the_controller_is_given_extra_tags_in_a_stable_order() -> None:
    args = controller_args(
        DriverOptions(plugin_id="p", version=DRIVER.default_version, extra_tags={"b": "2", "a": "1"})
    )
    assert args[0] == "controller"
    assert "--extra-tags=a=1,b=2" in args


@pytest.mark.parametrize("version", ["1.2", "latest", "v1.2.3-rc1", ""])
def test_only_released_versions_are_versions(version: str) -> None:
    with pytest.raises(ValueError, match="not a version"):
        parse_version(version)


def test_volumes_may_be_attached_only_when_they_carry_the_tag() -> None:
    statement = policy()["AttachManagedVolumes"]
    assert statement["Condition"] == {"StringEquals": {"ec2:ResourceTag/ebs.csi.aws.com/cluster": "true"}}
    assert statement["Resource"] == "arn:aws:ec2:us-west-2:123456789012:volume/*"


def test_nothing_but_describing_is_allowed_on_every_resource() -> None:
    for statement in policy().values():
        if statement["Resource"] == "*":
            assert all(str(action).startswith("ec2:Describe") for action in statement["Action"])  # type: ignore[attr-defined]


def test_keys_are_named_only_when_a_volume_uses_one() -> None:
    assert not [sid for sid in policy() if "Key" in sid]
    assert policy(keys=["arn:k", "arn:k"])["UseVolumeKeys"]["Resource"] == ["arn:k"]
