"""Volumes, attachments and snapshots against EC2's API."""

from __future__ import annotations

import contextlib

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from botocore.session import Session as BotocoreSession

from sandbox.standins.ebs_csi_driver.cloud.errors import CloudError, Kind, kind_of, translated
from sandbox.standins.ebs_csi_driver.cloud.volumes import VolumeChange
from sandbox.standins.ebs_csi_driver.cloud.waiting import until
from tests.unit.sandbox.standins.ebs_csi_driver.conftest import Cloud


def test_a_new_volume_that_is_not_described_yet_is_not_made_twice(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    describe, asked = cloud.ec2.client.describe_volumes, []

    def late(**request: object) -> object:
        asked.append(request)
        if len(asked) < 3:
            raise ClientError({"Error": {"Code": "InvalidVolume.NotFound", "Message": ""}}, "DescribeVolumes")
        return describe(**request)  # type: ignore[arg-type]

    monkeypatch.setattr(cloud.ec2.client, "describe_volumes", late)
    made = cloud.make()
    assert [one["VolumeId"] for one in describe()["Volumes"]] == [made.volume_id]


def test_credentials_that_were_missing_at_first_are_looked_for_again(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as without:
        without.delenv("AWS_ACCESS_KEY_ID")
        without.delenv("AWS_SECRET_ACCESS_KEY")
        without.setenv("AWS_EC2_METADATA_DISABLED", "true")
        without.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
        with pytest.raises(CloudError, match="Unable to locate credentials"), translated():
            cloud.ec2.client.describe_volumes()
    assert cloud.ec2.client.describe_volumes()["Volumes"] == []
    assert cloud.ec2.client is cloud.ec2.client


def test_credentials_that_come_while_the_client_is_made_are_not_missed_for_ever(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, asked = BotocoreSession.get_credentials, []

    def late(session: BotocoreSession) -> object:
        asked.append(session)
        return None if len(asked) == 1 else found(session)

    monkeypatch.setattr(BotocoreSession, "get_credentials", late)
    with contextlib.suppress(CloudError), translated():
        cloud.ec2.client.describe_volumes()
    assert cloud.ec2.client.describe_volumes()["Volumes"] == []


def test_attaching_gives_the_first_free_name_and_the_same_one_again(cloud: Cloud) -> None:
    node = cloud.run_instance()
    first, second = cloud.make("a"), cloud.make("b")
    assert cloud.attachments.attach(first.volume_id, node) == "/dev/xvdaa"
    assert cloud.attachments.attach(second.volume_id, node) == "/dev/xvdab"
    assert cloud.attachments.attach(first.volume_id, node) == "/dev/xvdaa"


def test_a_name_another_controller_took_meanwhile_is_passed_over(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    node, volume = cloud.run_instance(), cloud.make()
    attach, tried = cloud.ec2.client.attach_volume, []

    def taken_once(**request: str) -> object:
        tried.append(request["Device"])
        if len(tried) == 1:
            text = f"Invalid value '{request['Device']}' for unixDevice. Attachment point is already in use"
            raise ClientError({"Error": {"Code": "InvalidParameterValue", "Message": text}}, "AttachVolume")
        return attach(**request)  # type: ignore[arg-type]

    monkeypatch.setattr(cloud.ec2.client, "attach_volume", taken_once)
    assert cloud.attachments.attach(volume.volume_id, node) == "/dev/xvdab"
    assert tried == ["/dev/xvdaa", "/dev/xvdab"]


def test_an_attachment_whose_answer_got_lost_is_the_one_asked_for(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    node, made = cloud.run_instance(), cloud.make()
    attach = cloud.ec2.client.attach_volume

    def unanswered(**request: str) -> object:
        attach(**request)  # type: ignore[arg-type]
        raise ClientError({"Error": {"Code": "VolumeInUse", "Message": "already attached"}}, "AttachVolume")

    monkeypatch.setattr(cloud.ec2.client, "attach_volume", unanswered)
    assert cloud.attachments.attach(made.volume_id, node) == "/dev/xvdaa"


def test_a_volume_on_another_instance_is_not_taken_from_it(cloud: Cloud) -> None:
    volume, here, there = cloud.make(), cloud.run_instance(), cloud.run_instance()
    cloud.attachments.attach(volume.volume_id, there)
    with pytest.raises(CloudError, match="AttachVolume: "):
        cloud.attachments.attach(volume.volume_id, here)
    assert [item.instance_id for item in cloud.volumes.get(volume.volume_id).attachments] == [there]


def test_detaching_is_done_once_and_fine_ever_after(cloud: Cloud) -> None:
    volume, node, other = cloud.make(), cloud.run_instance(), cloud.run_instance()
    cloud.attachments.attach(volume.volume_id, node)
    cloud.attachments.detach(volume.volume_id, other)
    assert cloud.volumes.get(volume.volume_id).attachments[0].instance_id == node
    cloud.attachments.detach(volume.volume_id, node)
    cloud.attachments.detach(volume.volume_id, node)
    assert cloud.volumes.get(volume.volume_id).attachments == ()
    cloud.attachments.detach("vol-00000000000000000", node)


def test_a_detachment_that_hangs_says_that_the_volume_is_busy(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    volume, node = cloud.make(), cloud.run_instance()
    cloud.attachments.attach(volume.volume_id, node)
    describe = cloud.ec2.client.describe_volumes

    def busy(**request: object) -> object:
        answer = describe(**request)  # type: ignore[arg-type]
        answer["Volumes"][0]["Attachments"][0]["State"] = "busy"
        return answer

    monkeypatch.setattr(cloud.ec2.client, "describe_volumes", busy)
    monkeypatch.setattr(cloud.ec2.client, "detach_volume", lambda **_: {})
    with pytest.raises(CloudError, match=r"still busy.*mounted") as caught:
        cloud.attachments.detach(volume.volume_id, node, timeout_s=0.2)
    assert caught.value.kind is Kind.TIMEOUT


@pytest.mark.parametrize(("what", "kind"), [("volume", Kind.NOT_FOUND), ("instance", Kind.NO_INSTANCE)])
def test_unknown_volumes_and_instances_are_not_found(what: str, kind: Kind, cloud: Cloud) -> None:
    volume_id = "vol-00000000000000000" if what == "volume" else cloud.make().volume_id
    node = "i-00000000000000000" if what == "instance" else cloud.run_instance()
    with pytest.raises(CloudError) as caught:
        cloud.attachments.attach(volume_id, node)
    assert caught.value.kind is kind


def test_a_terminated_instance_is_no_instance(cloud: Cloud) -> None:
    node, volume = cloud.run_instance(), cloud.make()
    cloud.ec2.client.terminate_instances(InstanceIds=[node])
    with pytest.raises(CloudError) as caught:
        cloud.attachments.attach(volume.volume_id, node)
    assert caught.value.kind is Kind.NO_INSTANCE


def test_enlarging_is_done_when_needed_and_never_the_other_way(cloud: Cloud) -> None:
    volume_id = cloud.make().volume_id
    assert cloud.volumes.modify(volume_id, VolumeChange(size_gib=5)).size_gib == 5
    assert cloud.volumes.modify(volume_id, VolumeChange(size_gib=3)).size_gib == 5


def test_the_next_call_after_a_mismatch_takes_the_next_token(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    create, tokens = cloud.ec2.client.create_volume, []

    def mismatch_once(**request: object) -> object:
        tokens.append(request["ClientToken"])
        if len(tokens) == 1:
            raise ClientError({"Error": {"Code": "IdempotentParameterMismatch", "Message": ""}}, "CreateVolume")
        return create(**request)  # type: ignore[arg-type]

    monkeypatch.setattr(cloud.ec2.client, "create_volume", mismatch_once)
    with pytest.raises(CloudError) as caught:
        cloud.make()
    assert caught.value.kind is Kind.ALREADY_EXISTS
    assert cloud.make().state == "available"
    assert cloud.make().state == "available"
    assert tokens[1] == tokens[2] != tokens[0]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("InvalidVolume.NotFound", Kind.NOT_FOUND),
        ("VolumeInUse", Kind.IN_USE),
        ("RequestLimitExceeded", Kind.UNAVAILABLE),
        ("AttachmentLimitExceeded", Kind.LIMIT),
        ("UnauthorizedOperation", Kind.DENIED),
        ("InvalidParameterCombination", Kind.INVALID),
        ("SomethingNew", Kind.OTHER),
    ],
)
def test_ec2s_errors_are_sorted(code: str, kind: Kind) -> None:
    assert kind_of(code) is kind


def test_an_unreachable_ec2_is_said_to_be_unreachable() -> None:
    with pytest.raises(CloudError, match="EC2 cannot be asked") as caught, translated():
        raise EndpointConnectionError(endpoint_url="http://127.0.0.1:9")
    assert caught.value.kind is Kind.UNAVAILABLE


def test_waiting_ends_when_something_is_found() -> None:
    answers = iter([None, "found"])
    assert until(lambda: next(answers), timeout_s=5, what=lambda: "never said") == "found"
