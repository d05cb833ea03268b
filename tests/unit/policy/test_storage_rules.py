"""Encryption, protection and tags: each rule passes what is right and names what is not."""

from typing import Any

import pytest
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE

from nomad_stateful.resource_types import (
    EBS_SNAPSHOT,
    EBS_SNAPSHOT_COPY,
    EBS_VOLUME,
    EC2_TAG,
    EFS_FILE_SYSTEM,
    NOMAD_CSI_REGISTRATION,
    NOMAD_CSI_VOLUME,
    VOLUMES,
)
from policy.resource import UNKNOWN, Resource
from tests.unit.policy.asking import findings, reported

TAGGED = {"ebs.csi.aws.com/cluster": "true"}


def volume(**props: Any) -> Resource:
    return Resource(EBS_VOLUME, "data", props, urn="urn:data")


@pytest.mark.parametrize("kind", [EBS_VOLUME, EBS_SNAPSHOT_COPY, EFS_FILE_SYSTEM])
def test_encrypted_storage_passes(kind: str) -> None:
    assert reported("encryption-at-rest", Resource(kind, "data", {"encrypted": True})) == []


@pytest.mark.parametrize("kind", [EBS_VOLUME, EBS_SNAPSHOT_COPY, EFS_FILE_SYSTEM])
@pytest.mark.parametrize(("props", "value"), [({"encrypted": False}, "false"), ({}, "not set")])
def test_storage_that_is_not_encrypted_is_named(kind: str, props: dict[str, Any], value: str) -> None:
    assert reported("encryption-at-rest", Resource(kind, "data", props)) == [f"data: encrypted is {value}"]


def test_encryption_that_is_not_known_yet_is_not_held_against_a_volume() -> None:
    assert reported("encryption-at-rest", volume(encrypted=UNKNOWN_STRING_VALUE)) == []


def test_a_snapshot_of_an_encrypted_volume_passes() -> None:
    snapshot = Resource(EBS_SNAPSHOT, "nightly", {}, sources={"volumeId": ("urn:data",)})
    assert findings("snapshot-encryption", volume(encrypted=True), snapshot) == []


def test_a_snapshot_of_a_volume_that_is_not_encrypted_is_named() -> None:
    snapshot = Resource(EBS_SNAPSHOT, "nightly", {"encrypted": UNKNOWN}, sources={"volumeId": ("urn:data",)})
    said = findings("snapshot-encryption", volume(encrypted=False), snapshot)
    assert said == ["volumeId is data, which is not encrypted"]


def test_a_snapshot_that_exists_in_clear_is_named() -> None:
    said = reported("snapshot-encryption", Resource(EBS_SNAPSHOT, "nightly", {"encrypted": False}))
    assert said == ["nightly: encrypted is false"]


@pytest.mark.parametrize("kind", sorted(VOLUMES))
def test_a_protected_volume_passes(kind: str) -> None:
    assert reported("volume-protection", Resource(kind, "data", protect=True, stack="prod")) == []


@pytest.mark.parametrize("kind", sorted(VOLUMES))
def test_a_volume_that_is_not_protected_is_named(kind: str) -> None:
    said = reported("volume-protection", Resource(kind, "data", stack="prod"))
    assert said == ["data: protect is false in stack prod"]


def test_volumes_of_sandbox_stacks_need_no_protection() -> None:
    assert reported("volume-protection", Resource(EBS_VOLUME, "data", stack="dev")) == []
    assert reported("volume-protection", Resource(EBS_VOLUME, "data", stack="try-7"), sandboxStacks=["try-*"]) == []


def test_the_list_of_sandbox_stacks_replaces_the_default() -> None:
    assert reported("volume-protection", Resource(EBS_VOLUME, "data", stack="dev"), sandboxStacks=[]) != []


@pytest.mark.parametrize("kind", [EBS_VOLUME, EBS_SNAPSHOT])
def test_storage_with_the_drivers_tag_passes(kind: str) -> None:
    assert reported("managed-tag", Resource(kind, "data", {"tags": TAGGED})) == []
    assert reported("managed-tag", Resource(kind, "data", {"tagsAll": TAGGED, "tags": {"Name": "data"}})) == []


@pytest.mark.parametrize(
    ("tags", "value"),
    [(None, "not set"), ({"Name": "data"}, "not set"), ({"ebs.csi.aws.com/cluster": "false"}, "false")],
)
def test_storage_without_the_drivers_tag_is_named(tags: dict[str, str] | None, value: str) -> None:
    said = reported("managed-tag", volume(tags=tags))
    assert said == [f'data: tags["ebs.csi.aws.com/cluster"] is {value}, not true']


def test_another_tag_of_the_driver_can_be_asked_for() -> None:
    assert findings("managed-tag", volume(tags={"mine": "yes"}), key="mine", value="yes") == []


def test_a_tag_that_is_not_known_yet_does_not_hide_the_others() -> None:
    assert reported("managed-tag", volume(tags={**TAGGED, "guard": UNKNOWN_STRING_VALUE})) == []
    assert reported("managed-tag", volume(tags={"guard": UNKNOWN_STRING_VALUE})) != []
    assert reported("managed-tag", volume(tags=UNKNOWN_STRING_VALUE)) == []


def test_no_tags_are_mandatory_unless_configured() -> None:
    assert reported("mandatory-tags", volume()) == []


def test_mandatory_tags_that_are_there_pass() -> None:
    props = {"tags": {"owner": "db"}, "tagsAll": {"owner": "db", "cost-centre": "7"}}
    assert reported("mandatory-tags", volume(**props), tags=["owner", "cost-centre"]) == []


def test_mandatory_tags_that_are_missing_or_empty_are_named() -> None:
    said = reported("mandatory-tags", volume(tags={"owner": ""}), tags=["owner", "cost-centre"])
    assert said == ['data: tags["owner"] is not set', 'data: tags["cost-centre"] is not set']


def test_mandatory_tags_can_be_asked_of_other_types() -> None:
    role = Resource("aws:iam/role:Role", "clients")
    assert reported("mandatory-tags", role, tags=["owner"]) == []
    assert reported("mandatory-tags", role, tags=["owner"], types=["aws:iam/role:Role"]) != []


def test_a_volume_of_which_snapshots_are_taken_passes() -> None:
    tagged = {"tags": {"nomad-stateful-snapshots": "nomad-stateful/prod/data"}}
    assert reported("scheduled-snapshots", Resource(EBS_VOLUME, "data", tagged, protect=True, stack="prod")) == []
    backup = Resource(EBS_VOLUME, "data", {"tags": {"backup": "daily"}}, protect=True, stack="prod")
    assert reported("scheduled-snapshots", backup, tags=["backup"]) == []


def test_a_protected_volume_of_which_no_snapshots_are_taken_is_named() -> None:
    said = reported("scheduled-snapshots", Resource(EBS_VOLUME, "data", {"tags": {}}, protect=True, stack="prod"))
    assert said == ["data: no snapshots are taken of it on schedule: it has no tag nomad-stateful-snapshots"]


def test_volumes_whose_data_may_be_lost_need_no_snapshots() -> None:
    for harmless in (
        Resource(EBS_VOLUME, "data", stack="prod"),
        Resource(EBS_VOLUME, "data", protect=True, stack="dev"),
        Resource(EFS_FILE_SYSTEM, "data", protect=True, stack="prod"),
    ):
        assert reported("scheduled-snapshots", harmless) == []


OTHERS = "scheduled-snapshots-of-others"
EBS_ID = "vol-0123456789abcdef0"


def existing(**more: Any) -> Resource:
    return Resource(NOMAD_CSI_REGISTRATION, "ledger", {"externalId": EBS_ID}, stack="prod", urn="urn:ledger", **more)


def made_by_its_driver(*, protect: bool = True, external_id: Any = EBS_ID) -> Resource:
    props = {"externalId": external_id}
    return Resource(NOMAD_CSI_VOLUME, "made", props, protect=protect, stack="prod", urn="urn:made")


@pytest.mark.parametrize("volume", [existing(), made_by_its_driver()], ids=["existing", "driver"])
def test_a_volume_of_others_is_named_until_it_is_given_the_tag_of_a_schedule(volume: Resource) -> None:
    assert findings(OTHERS, volume) == [f"no snapshots are taken of {EBS_ID} on schedule by this stack"]
    assert findings(OTHERS, volume, Resource(EC2_TAG, "tag", {"resourceId": "vol-0123456789abcdef1"}, stack="prod"))
    assert findings(OTHERS, volume, Resource(EC2_TAG, "tag", {"resourceId": EBS_ID}, stack="prod")) == []
    assert findings(OTHERS, volume, sandboxStacks=["pr*"]) == []


@pytest.mark.parametrize(
    "volume",
    [
        existing(sources={"externalId": ("urn:protection",)}),
        made_by_its_driver(protect=False),
        made_by_its_driver(external_id=UNKNOWN),
        made_by_its_driver(external_id="share-1"),
    ],
    ids=["made by Pulumi", "not protected", "not made yet", "not EBS"],
)
def test_volumes_that_the_rule_on_others_is_not_about(volume: Resource) -> None:
    assert findings(OTHERS, volume) == []
