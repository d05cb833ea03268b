"""VolumeRelease while EC2 throttles or does not answer."""

from dataclasses import replace
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from nomad_stateful.ebs.ec2_client import Ec2Unavailable, is_transient
from nomad_stateful.ebs.tags import GIVEN_UP_TAG
from nomad_stateful.ebs.volumes import Attachment, EbsVolumes, Volume
from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.provider.resources import volume_release
from nomad_stateful.provider.resources.volume_release import VolumeRelease
from nomad_stateful.waiting import Context
from tests.fake_nomad import FakeNomad

ATTACHED = Volume("vol-1", "in-use", [Attachment("i-1", "/dev/xvdba", "detaching")])
GIVEN_UP = replace(ATTACHED, tags={GIVEN_UP_TAG: "2026-11-22 10:15:00 UTC"})
STATE = {"volumeId": "mysql", "backend": "ebs", "externalId": "vol-1", "timeoutS": 60, "releaseId": "r"}


class Ebs:
    """Answers as it is told; the last answer stays."""

    def __init__(self, *answers: Volume | Exception) -> None:
        self.answers = list(answers)
        self.asked = 0

    def state(self, _volume_id: str) -> Volume:
        self.asked += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(volume_release, "EC2_POLL_S", 0.01)


@pytest.fixture
def api(nomad: FakeNomad) -> NomadApi:
    return nomad.api


def release(api: NomadApi, ebs: Ebs, **more: str) -> None:
    VolumeRelease(lambda: api, lambda _region: cast("EbsVolumes", ebs)).delete(Context(), "r", STATE | more)


def test_a_throttled_ec2_is_asked_again_until_the_volume_is_free(api: NomadApi) -> None:
    ebs = Ebs(Ec2Unavailable("throttled"), ATTACHED, Ec2Unavailable("throttled"), Volume("vol-1", "available"))
    release(api, ebs)
    assert ebs.asked == 4


def test_a_volume_of_a_job_that_was_stopped_before_is_waited_for_and_then_the_job_is_purged(
    api: NomadApi, nomad: FakeNomad
) -> None:
    groups = [{"Volumes": {"data": {"Type": "csi", "Source": "mysql"}}}]
    nomad.put("job/mysql-server", {"Stop": True, "TaskGroups": groups})
    ebs = Ebs(ATTACHED, ATTACHED, Volume("vol-1", "available"))
    release(api, ebs, consumerJobId="mysql-server")
    assert (ebs.asked, nomad.writes) == (3, ["DELETE job/mysql-server"])


def test_a_volume_that_was_given_up_with_its_zone_is_not_waited_for(api: NomadApi) -> None:
    ebs = Ebs(GIVEN_UP)
    release(api, ebs)
    assert ebs.asked == 1


@pytest.mark.parametrize("holds", ["a claim", "an attachment"])
def test_a_volume_that_was_given_up_is_waited_for_while_a_client_that_has_it_answers(
    api: NomadApi, nomad: FakeNomad, holds: str
) -> None:
    claimed = {"Allocations": [{"ID": "a1", "NodeID": "n1", "ClientStatus": "running"}]}
    nomad.put("volume/csi/mysql", claimed if holds == "a claim" else {})
    instance = "i-2" if holds == "a claim" else "i-1"
    nomad.put("node/n1", {"Status": "ready", "Attributes": {"unique.platform.aws.instance-id": instance}})
    # The claim goes once its client has unmounted the volume.
    nomad.after["GET node/n1"] = lambda _asked: nomad.put("volume/csi/mysql", {})
    ebs = Ebs(GIVEN_UP, ATTACHED, Volume("vol-1", "available"))
    release(api, ebs)
    assert ebs.asked == 3


@pytest.mark.parametrize("status", ["down", "disconnected"])
def test_a_volume_that_was_given_up_is_not_waited_for_while_its_client_is_away(
    api: NomadApi, nomad: FakeNomad, status: str
) -> None:
    nomad.put("volume/csi/mysql", {"Allocations": [{"ID": "a1", "NodeID": "n1", "ClientStatus": "lost"}]})
    nomad.put("node/n1", {"Status": status, "Attributes": {"unique.platform.aws.instance-id": "i-1"}})
    nomad.put("node/n2", {"Status": "ready", "Attributes": {"unique.platform.aws.instance-id": "i-2"}})
    ebs = Ebs(GIVEN_UP)
    release(api, ebs)
    assert ebs.asked == 1


def test_without_nomads_word_on_the_clients_nothing_is_given_up(api: NomadApi, nomad: FakeNomad) -> None:
    nomad.refuse("nodes", 403, "Permission denied")
    with pytest.raises(ProviderError, match="Permission denied"):
        release(api, Ebs(GIVEN_UP))


def test_a_refusal_is_told_at_once(api: NomadApi) -> None:
    ebs = Ebs(ProviderError("UnauthorizedOperation"))
    with pytest.raises(ProviderError, match="UnauthorizedOperation"):
        release(api, ebs)
    # Whether it was given up, then who holds it: neither is asked again.
    assert ebs.asked == 2


def test_an_ec2_that_never_answered_is_not_waited_for_until_the_deadline(
    api: NomadApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(volume_release, "RETRY_LIMIT_S", 0.1)
    with pytest.raises(Ec2Unavailable, match="no answer"):
        release(api, Ebs(Ec2Unavailable("no answer")))


@pytest.mark.parametrize(
    ("code", "status", "passes"),
    [
        ("RequestLimitExceeded", 503, True),
        ("Throttling", 400, True),
        ("InternalError", 500, True),
        ("UnauthorizedOperation", 403, False),
        ("InvalidVolume.NotFound", 400, False),
    ],
)
def test_what_passes_is_told_from_what_does_not(code: str, status: int, passes: bool) -> None:
    response: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    assert is_transient(ClientError(response, "DescribeVolumes")) is passes


def test_a_connection_that_fails_passes() -> None:
    assert is_transient(EndpointConnectionError(endpoint_url="http://ec2"))
