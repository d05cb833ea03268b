"""Who begins a group is decided once, whoever asks, in whatever order, and however often."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad.api import NomadApiError
from nomad_stateful.nomad.group_record import Decision, GroupRecord
from tests.fake_nomad import FakeNomad

ONE = Decision("mysql-server-a", "a1a1a1a1-0000-4000-8000-00000000000a")
OTHER = Decision("mysql-server-b", "b2b2b2b2-0000-4000-8000-00000000000b")
PATH = "var/nomad/jobs/nomad-stateful/groups/mysql~2eserver"


@pytest.fixture
def record(nomad: FakeNomad) -> GroupRecord:
    return GroupRecord(nomad.api, "data", "mysql.server")


def test_the_first_decision_holds(record: GroupRecord) -> None:
    assert record.read() is None
    assert record.decide(ONE) == ONE
    assert record.decide(OTHER) == ONE
    assert record.read() == ONE


def test_of_many_at_once_all_get_the_same_decision(record: GroupRecord) -> None:
    proposed = [Decision(f"mysql-server-{number}", ONE.group_id) for number in range(8)]
    with ThreadPoolExecutor(len(proposed)) as pool:
        got = set(pool.map(record.decide, proposed))
    assert got == {record.read()}


def test_each_namespace_and_job_has_its_own(record: GroupRecord, nomad: FakeNomad) -> None:
    record.decide(ONE)
    assert GroupRecord(nomad.api, "default", record.job).read() is None
    assert GroupRecord(nomad.api, "data", "another").decide(OTHER) == OTHER


def test_what_was_written_and_not_answered_is_the_decision(record: GroupRecord, nomad: FakeNomad) -> None:
    """The request is sent again then, and conflicts with itself."""
    record.decide(ONE)
    assert record.decide(ONE) == ONE
    assert len(nomad.sent(PATH)) == 2


def test_a_refusal_is_no_decision(record: GroupRecord, nomad: FakeNomad) -> None:
    nomad.refuse(PATH, 403, "Permission denied", method="PUT")
    with pytest.raises(NomadApiError, match="Permission denied"):
        record.decide(ONE)
    assert record.read() is None


def test_a_variable_that_says_something_else_is_told(record: GroupRecord, nomad: FakeNomad) -> None:
    nomad.put(PATH, {"Items": {"first": "mysql-server-a"}}, namespace="data")
    with pytest.raises(ProviderError, match=r"it has to have the items first and group\. Write it as it was"):
        record.decide(ONE)
