from __future__ import annotations

import json
from typing import Any

import pytest

from tests.providers.aws.life import Life
from tests.providers.aws.test_policy import document
from tests.providers.harness import Failed, PluginProcess

ATTACHMENT = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
INLINE = "aws:iam/rolePolicy:RolePolicy"


@pytest.fixture
def policy_arn(plugin: PluginProcess, aws: Any) -> str:
    return str(aws.iam.create_policy(PolicyName="p", PolicyDocument=document("ec2:X"))["Policy"]["Arn"])


@pytest.fixture
def attachment(plugin: PluginProcess, role: str, policy_arn: str) -> Life:
    return Life(plugin, ATTACHMENT).create({"role": role, "policyArn": policy_arn})


@pytest.fixture
def inline(plugin: PluginProcess, role: str) -> Life:
    return Life(plugin, INLINE, "inline").create({"role": role, "policy": document("ec2:X")})


def test_an_attachment_is_role_and_policy(attachment: Life, role: str, policy_arn: str, aws: Any) -> None:
    assert attachment.id == f"{role}/{policy_arn}"
    assert attachment.state == {"id": attachment.id, "role": role, "policyArn": policy_arn}
    assert attachment.inputs == {"__defaults": [], "role": role, "policyArn": policy_arn}
    attached = aws.iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"]
    assert [policy["PolicyArn"] for policy in attached] == [policy_arn]


def test_an_attachment_with_an_id_of_an_older_plugin_is_found(attachment: Life) -> None:
    attachment.id = "nomad-client-20230101000000000000000001"
    assert attachment.refresh()
    attachment.delete()
    assert not attachment.refresh()


def test_an_attachment_is_imported_by_role_and_arn(
    plugin: PluginProcess, attachment: Life, role: str, policy_arn: str
) -> None:
    found = Life(plugin, ATTACHMENT)
    assert found.import_(f"{role}/{policy_arn}")
    assert not found.diff({"role": role, "policyArn": policy_arn}).changed
    with pytest.raises(Failed, match="<role>/<policy ARN>"):
        found.import_("nomad-client")


def test_a_bad_attachment_is_refused(plugin: PluginProcess) -> None:
    assert "invalid ARN" in Life(plugin, ATTACHMENT).refused({"role": "r", "policyArn": "p"})
    assert "Missing required argument: role" in Life(plugin, ATTACHMENT).refused({"policyArn": "arn:aws:iam::aws:x"})


def test_an_attachment_to_a_missing_role_fails_naming_both(plugin: PluginProcess, policy_arn: str) -> None:
    with pytest.raises(Failed) as failed:
        Life(plugin, ATTACHMENT).create({"role": "nobody", "policyArn": policy_arn})
    assert failed.value.message.startswith(f"attaching IAM Policy ({policy_arn}) to IAM Role (nobody): NoSuchEntity")


def test_an_inline_policy_is_stored_version_first(inline: Life, role: str) -> None:
    assert inline.inputs["__defaults"] == ["name"]
    assert inline.id == f"{role}:{inline.inputs['name']}"
    assert inline.state["policy"].startswith('{"Version":"2012-10-17","Statement":')
    assert not inline.diff({"role": role, "policy": document("ec2:X")}).changed


def test_an_inline_policy_changes_in_place(inline: Life, role: str, aws: Any) -> None:
    news = {"role": role, "policy": document("ec2:Y")}
    assert inline.diff(news).detailed == {"policy": "UPDATE"}
    inline.update(news)
    stored = aws.iam.get_role_policy(RoleName=role, PolicyName=inline.inputs["name"])["PolicyDocument"]
    assert stored == json.loads(document("ec2:Y"))


def test_an_inline_policy_is_refreshed_imported_and_deleted(plugin: PluginProcess, inline: Life, aws: Any) -> None:
    found = Life(plugin, INLINE)
    assert found.import_(inline.id)
    assert found.inputs["policy"] == inline.state["policy"]
    with pytest.raises(Failed, match="<role>:<name>"):
        found.import_("nomad-client")
    inline.delete()
    assert not inline.refresh()
    inline.delete()
