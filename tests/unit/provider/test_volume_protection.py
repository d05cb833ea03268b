"""The final snapshot of a volume, against moto."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from nomad_stateful.ebs import snapshots as ebs_snapshots
from nomad_stateful.ebs import tags
from nomad_stateful.ebs.ec2_client import Ec2Unavailable
from nomad_stateful.ebs.snapshots import EbsSnapshots, Snapshot
from nomad_stateful.errors import ProviderError
from nomad_stateful.plugin_server.plugin import Kind
from nomad_stateful.plugin_server.values import UNKNOWN
from nomad_stateful.provider.resources.volume_protection import VolumeProtection
from nomad_stateful.waiting import Context
from tests.unit.aws import PLACE, REGION, THROTTLED, UNLISTED, answers, empty_first_pages


@pytest.fixture
def volume_id(ec2: Any) -> str:
    tagged = [{"ResourceType": "volume", "Tags": tags.listed({"team": "db"})}]
    return str(ec2.create_volume(AvailabilityZone=f"{REGION}a", Size=1, TagSpecifications=tagged)["VolumeId"])


def known(volume_id: str) -> dict[str, Any]:
    """What is remembered of a volume."""
    return {"volumeName": "mysql", "volumeId": volume_id, "region": REGION, "accountId": PLACE.account_id}


def delete(volume_id: str, *, final: bool = True, protection: VolumeProtection | None = None, **more: Any) -> str:
    """What a deletion tells."""
    told: list[str] = []
    ctx = Context(sink=lambda _severity, message, _urn, _ephemeral: told.append(message))
    state = known(volume_id) | {"finalSnapshot": final, "timeoutS": 1} | more
    (protection or VolumeProtection()).delete(ctx, volume_id, state)
    return "\n".join(told)


def snapshots(ec2: Any, volume_id: str) -> list[dict[str, Any]]:
    found = ec2.describe_snapshots(Filters=[{"Name": "volume-id", "Values": [volume_id]}])["Snapshots"]
    return list(found)


def test_a_deletion_takes_a_snapshot_with_the_volumes_tags_and_names_it(ec2: Any, volume_id: str) -> None:
    told = delete(volume_id)
    [taken] = snapshots(ec2, volume_id)
    assert f"the contents of volume mysql are in snapshot {taken['SnapshotId']}" in told
    assert {"Name": "mysql", "team": "db"}.items() <= tags.read(taken).items()


def test_a_later_deletion_takes_what_was_written_since_an_earlier_one_that_did_not_end(
    ec2: Any, volume_id: str
) -> None:
    delete(volume_id)
    [earlier] = snapshots(ec2, volume_id)
    # Here the destroy was aborted; an `up` brought the consumers back, and they wrote for months.
    told = delete(volume_id)
    [final] = [one for one in snapshots(ec2, volume_id) if one["SnapshotId"] != earlier["SnapshotId"]]
    assert f"the contents of volume mysql are in snapshot {final['SnapshotId']}" in told
    assert f"earlier snapshots, of interrupted deletions, are {earlier['SnapshotId']}" in told


def test_a_snapshot_that_is_still_being_copied_is_waited_for_before_the_next_one(
    ec2: Any, volume_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ebs_snapshots, "POLL_S", 0.01)
    delete(volume_id)
    [earlier] = EbsSnapshots(PLACE).final_of(volume_id)
    copying = replace(earlier, state="pending", progress="40%")
    answers: Iterator[Snapshot | Exception | None] = iter([None, copying, Ec2Unavailable("throttled"), earlier])
    asked: list[str] = []

    def by_id(_self: EbsSnapshots, snapshot_id: str) -> Snapshot | None:
        asked.append("earlier" if snapshot_id == earlier.id else "final")
        answer = next(answers) if asked[-1] == "earlier" else replace(earlier, id=snapshot_id)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(EbsSnapshots, "_listed", by_id)
    monkeypatch.setattr(EbsSnapshots, "final_of", lambda _self, _id: [copying])
    delete(volume_id)
    assert asked == [*["earlier"] * 4, "final"]


def test_a_final_snapshot_is_waited_for_while_ec2_does_not_list_it_or_throttles(
    ec2: Any, volume_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ebs_snapshots, "POLL_S", 0.01)
    with answers(ec2, "DescribeSnapshots", "", UNLISTED, THROTTLED) as left:
        told = delete(volume_id, timeoutS=30)
    [taken] = snapshots(ec2, volume_id)
    assert left == []
    assert f"the contents of volume mysql are in snapshot {taken['SnapshotId']}" in told


def test_volume_and_earlier_snapshots_are_found_on_a_later_page(ec2: Any, volume_id: str) -> None:
    olds = known(volume_id)
    delete(volume_id)
    [earlier] = snapshots(ec2, volume_id)
    with empty_first_pages(ec2):
        assert f"of interrupted deletions, are {earlier['SnapshotId']}" in delete(volume_id)
        assert VolumeProtection().check(Context(), olds, {**olds, "volumeId": UNKNOWN}).failures


@pytest.mark.parametrize("planned", [UNKNOWN, "vol-0fedcba9876543210"])
def test_a_volume_that_would_be_replaced_is_refused_as_long_as_it_exists(
    ec2: Any, volume_id: str, planned: Any
) -> None:
    olds = known(volume_id)
    [refused] = VolumeProtection().check(Context(), olds, olds | {"volumeId": planned}).failures
    assert refused.reason.startswith(f"volume mysql is {volume_id}, which would be replaced by an empty one")
    assert VolumeProtection().check(Context(), olds, olds).failures == []
    ec2.delete_volume(VolumeId=volume_id)
    assert VolumeProtection().check(Context(), olds, olds | {"volumeId": planned}).failures == []


def test_without_a_final_snapshot_nothing_is_taken(ec2: Any, volume_id: str) -> None:
    assert delete(volume_id, final=False) == ""
    assert snapshots(ec2, volume_id) == []


@pytest.mark.parametrize("more", [{}, {"leaving": True}, {"namespace": "default"}, {"finalSnapshot": False}])
def test_a_protected_volume_stays_whatever_the_engine_was_told(ec2: Any, volume_id: str, more: dict[str, Any]) -> None:
    with pytest.raises(
        ProviderError, match=r"volumes\.mysql\.protect was true .*set protect: false on it, run `pulumi"
    ):
        delete(volume_id, protect=True, **more)
    assert snapshots(ec2, volume_id) == []


def test_a_state_of_before_protects_as_it_did() -> None:
    """Its protection is the engine's alone, until the next `up`, which changes it in place."""
    protection = VolumeProtection()
    olds = protection.check(Context(), {}, {"volumeName": "mysql", "volumeId": "vol-0123456789abcdef0"}).inputs
    before = {key: value for key, value in olds.items() if key != "protect"}
    news = protection.check(Context(), before, before | {"protect": True}).inputs
    assert protection.diff(Context(), "vol-0123456789abcdef0", before, before, news).detailed == {
        "protect": Kind.UPDATE
    }
    assert protection.diff(Context(), "vol-0123456789abcdef0", before, before, olds).detailed == {}


def test_a_volume_that_is_gone_has_nothing_to_take(ec2: Any, volume_id: str) -> None:
    delete(volume_id)
    [taken] = snapshots(ec2, volume_id)
    ec2.delete_volume(VolumeId=volume_id)
    told = delete(volume_id)
    assert f"is gone already: nothing to take a snapshot of; its earlier contents are in {taken['SnapshotId']}" in told


@pytest.mark.usefixtures("ec2")
def test_a_snapshot_that_takes_too_long_keeps_the_volume(volume_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    copying = Snapshot("snap-1", volume_id, "pending", datetime.now(UTC), progress="40%")
    monkeypatch.setattr(EbsSnapshots, "_listed", lambda _self, _id: copying)
    said = r"is not complete after 1 s \(40% copied\)\. Volume mysql was not deleted\. Run the same command again"
    with pytest.raises(ProviderError, match=said):
        delete(volume_id)


@pytest.mark.usefixtures("ec2")
def test_a_snapshot_that_fails_keeps_the_volume_and_says_why(volume_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = Snapshot("snap-1", volume_id, "error", datetime.now(UTC), why="Given key ID is not accessible")
    monkeypatch.setattr(EbsSnapshots, "_listed", lambda _self, _id: failed)
    with pytest.raises(
        ProviderError, match=r"final snapshot snap-\w+ failed: Given key ID is not accessible\. Run the"
    ):
        delete(volume_id)


def test_a_volume_that_moves_is_left_in_aws_without_the_stacks_tags(ec2: Any, volume_id: str) -> None:
    stack = {"nomad-stateful-stack": "nomad-stateful/dev", "nomad-stateful-snapshots": "x"}
    ec2.create_tags(Resources=[volume_id], Tags=tags.listed(stack))
    told = [delete(volume_id, leaving=True) for _ in range(2)]
    [found] = ec2.describe_volumes(VolumeIds=[volume_id])["Volumes"]
    assert tags.read(found) == {"team": "db", "nomad-stateful-left": "nomad-stateful/dev/mysql"}
    assert snapshots(ec2, volume_id) == []
    assert f"EBS volume {volume_id} stays in AWS" in told[0]


@pytest.mark.usefixtures("ec2")
def test_only_a_volume_that_was_let_go_is_replaced_and_only_by_one_with_contents(volume_id: str) -> None:
    olds = known(volume_id) | {"leaving": True}
    news = {**olds, "volumeId": UNKNOWN, "leaving": False}
    assert VolumeProtection().check(Context(), olds, news | {"hasContents": True}).failures == []
    assert VolumeProtection().check(Context(), olds, news | {"hasContents": False}).failures
    assert VolumeProtection().check(Context(), {**olds, "leaving": False}, news | {"hasContents": True}).failures
