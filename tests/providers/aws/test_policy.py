from __future__ import annotations

import json
from typing import Any

import pytest

from nomad_stateful.plugin_server.values import UNKNOWN
from tests.providers.aws.life import Life
from tests.providers.harness import PluginProcess

POLICY = "aws:iam/policy:Policy"


def document(*actions: str) -> str:
    return json.dumps(
        {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": list(actions), "Resource": "*"}]}
    )


ATTACH = {"policy": document("ec2:AttachVolume", "ec2:DetachVolume")}


@pytest.fixture
def policy(plugin: PluginProcess) -> Life:
    return Life(plugin, POLICY, "driver").create(ATTACH)


def test_an_unnamed_policy_is_named_after_the_resource(policy: Life) -> None:
    name = policy.inputs["name"]
    assert name.startswith("driver-")
    assert len(name) == len("driver-") + 7
    assert policy.inputs["__defaults"] == ["name", "path"]
    assert policy.id == f"arn:aws:iam::123456789012:policy/{name}"


def test_the_automatic_name_stays_the_same_on_later_runs(policy: Life) -> None:
    assert policy.checked(ATTACH)["name"] == policy.inputs["name"]
    del policy.inputs["__defaults"]  # as in states of some older plugins
    assert policy.checked(ATTACH)["name"] == policy.inputs["name"]


def test_outputs_have_the_official_names_and_shapes(policy: Life) -> None:
    assert policy.state.pop("policyId").startswith("A")
    assert policy.state == {
        "arn": policy.id,
        "attachmentCount": 0,
        "description": "",
        "id": policy.id,
        "name": policy.inputs["name"],
        "namePrefix": "",
        "path": "/",
        "policy": '{"Statement":[{"Action":["ec2:AttachVolume","ec2:DetachVolume"],"Effect":"Allow","Resource":"*"}],'
        '"Version":"2012-10-17"}',
        "tagsAll": {},
    }


def test_a_document_may_be_an_object(plugin: PluginProcess) -> None:
    checked = Life(plugin, POLICY).checked({"policy": json.loads(ATTACH["policy"])})
    assert json.loads(checked["policy"]) == json.loads(ATTACH["policy"])


def test_the_same_meaning_in_other_words_changes_nothing(policy: Life) -> None:
    assert not policy.diff({"policy": document("ec2:DetachVolume", "ec2:AttachVolume")}).changed


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"policy": "{"}, "contains an invalid JSON policy"),
        ({"policy": "allow everything"}, "contains an invalid JSON policy"),
        ({"policy": None}, "Missing required argument: policy"),
        ({"policy": document(*(f"ec2:Action{number}" for number in range(600)))}, "at most 6144 characters"),
        ({"name": "a b"}, "invalid value for name"),
        ({"name": "x" * 129}, "longer than 128"),
        ({"namePrefix": "y"}, "does not implement the input 'namePrefix'"),
        ({"path": "nomad"}, "starts and ends with '/'"),
        ({"colour": "red"}, "does not implement the input 'colour'"),
    ],
)
def test_bad_inputs_are_refused_at_preview(plugin: PluginProcess, change: dict[str, Any], said: str) -> None:
    assert said in Life(plugin, POLICY).refused(ATTACH | change)


def test_an_unknown_document_passes_the_check_and_the_preview(plugin: PluginProcess) -> None:
    inputs = Life(plugin, POLICY).checked({"policy": UNKNOWN})
    planned = plugin.create(POLICY, inputs, preview=True)
    assert planned["policy"] is UNKNOWN
    assert planned["arn"] is UNKNOWN
    assert planned["name"].startswith("it-")


def test_another_document_becomes_the_default_version(policy: Life, aws: Any) -> None:
    news = {"policy": document("ec2:DescribeVolumes")}
    assert policy.diff(news).detailed == {"policy": "UPDATE"}
    policy.update(news)
    versions = aws.iam.list_policy_versions(PolicyArn=policy.id)["Versions"]
    assert [version["VersionId"] for version in versions if version["IsDefaultVersion"]] == ["v2"]
    assert "DescribeVolumes" in policy.state["policy"]
    assert not policy.diff(news).changed


def test_the_oldest_version_makes_room_for_a_sixth(policy: Life, aws: Any) -> None:
    for number in range(6):
        policy.update({"policy": document(f"ec2:Action{number}")})
    versions = [item["VersionId"] for item in aws.iam.list_policy_versions(PolicyArn=policy.id)["Versions"]]
    assert len(versions) == 5
    assert "v1" not in versions


def test_a_policy_with_a_name_of_its_own_is_deleted_before_it_is_replaced(policy: Life) -> None:
    diff = policy.diff(ATTACH | {"name": "mine"})
    assert diff.replaces == ["name"]
    assert diff.delete_before_replace


def test_tags_change_in_place(policy: Life, aws: Any) -> None:
    policy.update(ATTACH | {"tags": {"a": "1", "b": "2"}})
    policy.update(ATTACH | {"tags": {"b": "3"}})
    assert aws.iam.list_policy_tags(PolicyArn=policy.id)["Tags"] == [{"Key": "b", "Value": "3"}]
    assert policy.state["tags"] == {"b": "3"}


def test_drift_of_the_document_shows_and_is_reverted(policy: Life, aws: Any) -> None:
    aws.iam.create_policy_version(PolicyArn=policy.id, PolicyDocument=document("ec2:*"), SetAsDefault=True)
    assert policy.refresh()
    assert "ec2:*" in policy.inputs["policy"]
    assert policy.diff(ATTACH).detailed == {"policy": "UPDATE"}
    policy.update(ATTACH)
    assert "ec2:*" not in policy.state["policy"]


def test_a_policy_is_imported_by_its_arn(plugin: PluginProcess, aws: Any) -> None:
    arn = aws.iam.create_policy(PolicyName="found", PolicyDocument=ATTACH["policy"])["Policy"]["Arn"]
    policy = Life(plugin, POLICY)
    assert policy.import_(arn)
    assert policy.inputs["name"] == "found"
    assert policy.inputs["__defaults"] == ["path"]
    assert not policy.diff(ATTACH | {"name": "found"}).changed


def test_all_versions_go_with_the_policy(policy: Life, aws: Any) -> None:
    policy.update({"policy": document("ec2:X")})
    policy.delete()
    assert aws.iam.list_policies(Scope="Local")["Policies"] == []


def test_a_secret_document_stays_secret_and_out_of_errors(plugin: PluginProcess) -> None:
    secret = {"policy": ATTACH["policy"]}
    checked = plugin.check(POLICY, secret, secrets={"policy"})
    assert "policy" in checked.inputs.secrets
    made = plugin.create(POLICY, checked.inputs.props, secrets=checked.inputs.secrets)
    assert "policy" in made.outputs.secrets
    refused = plugin.check(POLICY, {"policy": '{"password": "hush"'}, secrets={"policy"})
    assert [name for name, _ in refused.failures] == [""]
    assert "hush" not in refused.reasons
