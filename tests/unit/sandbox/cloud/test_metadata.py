"""The metadata tree and the service around it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime

import pytest

from sandbox.machine import metadata
from sandbox.machine.imds import MetadataService, Tokens
from sandbox.machine.metadata import InstanceFacts

FACTS = InstanceFacts(
    instance_id="i-0123456789abcdef0",
    image_id="ami-1",
    instance_type="t3.medium",
    architecture="x86_64",
    account_id="123456789012",
    region="us-west-2",
    zone="us-west-2a",
    zone_id="usw2-az2",
    private_ip="10.0.0.10",
    dns_name="ip-10-0-0-10.us-west-2.compute.internal",
    mac="02:00:00:00:00:01",
    launch_time=datetime(2026, 1, 2, 3, 4, 5),  # noqa: DTZ001 - as moto keeps it: UTC without saying so
    life_cycle="on-demand",
    profile=("arn:aws:iam::123456789012:instance-profile/p", "AIPA1"),
    role_name="r",
    boot_devices={"ebs1": "xvdba"},
)


def answer(path: str, facts: InstanceFacts = FACTS) -> str | None:
    return metadata.lookup(metadata.build(facts, lambda: "credentials"), path)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/", "1.0\nlatest"),
        ("/latest/meta-data/placement/availability-zone", "us-west-2a"),
        ("/2021-07-15/meta-data/instance-id", "i-0123456789abcdef0"),
        ("/latest/meta-data/network/interfaces/macs/", "02:00:00:00:00:01/"),
        ("/latest/meta-data/network/interfaces/macs/02:00:00:00:00:01/device-number", "0"),
        ("/latest/meta-data/iam/security-credentials/", "r"),
        ("/latest/meta-data/iam/security-credentials/r", "credentials"),
        ("/latest/meta-data/block-device-mapping/", "ami\nebs1\nroot"),
        ("/latest/meta-data/services/domain", "amazonaws.com"),
        ("/latest/meta-data/instance-life-cycle", "on-demand"),
    ],
)
def test_paths_are_answered_as_ec2_does(path: str, body: str) -> None:
    assert answer(path) == body


@pytest.mark.parametrize(
    "path",
    [
        "/latest/meta-data/public-ipv4",
        "/latest/meta-data/public-hostname",
        "/latest/meta-data/spot/instance-action",
        "/latest/meta-data/tags/instance",
        "/latest/meta-data/mac/more",
        "/latest/user-data",
        "/newest/meta-data",
    ],
)
def test_what_an_instance_does_not_have_is_not_found(path: str) -> None:
    assert answer(path) is None


def test_folders_are_listed_with_a_slash() -> None:
    listing = (answer("/latest/meta-data") or "").splitlines()
    assert {"placement/", "network/", "iam/", "mac", "ami-id"} <= set(listing)


def test_an_instance_without_a_profile_has_no_iam_folder() -> None:
    assert answer("/latest/meta-data/iam/info", replace(FACTS, profile=None)) is None


def test_tags_are_shown_only_when_the_options_say_so() -> None:
    assert answer("/latest/meta-data/tags/instance/Name", replace(FACTS, tags={"Name": "n"})) == "n"


def test_the_identity_document_tells_who_and_where() -> None:
    document = json.loads(answer("/latest/dynamic/instance-identity/document") or "")
    assert document["instanceId"] == FACTS.instance_id
    assert document["availabilityZone"] == FACTS.zone
    assert document["pendingTime"] == "2026-01-02T03:04:05Z"


def service(facts: InstanceFacts = FACTS) -> MetadataService:
    return MetadataService(lambda: facts, lambda: "credentials")


def test_version_one_needs_no_token_unless_it_is_required() -> None:
    assert service().get("/latest/meta-data/mac", None).status == 200
    assert service(replace(FACTS, token_required=True)).get("/latest/meta-data/mac", None).status == 401


def test_a_token_opens_the_service_that_issued_it() -> None:
    mine = service(replace(FACTS, token_required=True))
    issued = mine.put("/latest/api/token", "60", forwarded=False)
    assert issued.ttl_s == 60
    assert mine.get("/latest/meta-data/mac", issued.body).body == FACTS.mac
    assert service().get("/latest/meta-data/mac", issued.body).status == 401


@pytest.mark.parametrize("ttl", [None, "", "0", "21601", "-1", "soon"])
def test_a_token_needs_a_lifetime_within_six_hours(ttl: str | None) -> None:
    assert service().put("/latest/api/token", ttl, forwarded=False).status == 400


def test_a_forwarded_request_gets_no_token() -> None:
    assert service().put("/latest/api/token", "60", forwarded=True).status == 403


def test_a_disabled_service_answers_nobody() -> None:
    closed = service(replace(FACTS, endpoint_enabled=False))
    assert closed.put("/latest/api/token", "60", forwarded=False).status == 403
    assert closed.get("/latest/meta-data/mac", None).status == 403


def test_a_token_expires() -> None:
    now = [0.0]
    tokens = Tokens(lambda: now[0])
    token = tokens.issue(10)
    now[0] = 9.9
    assert tokens.is_valid(token)
    now[0] = 10.0
    assert not tokens.is_valid(token)
