import pytest

from nomad_stateful.nomad.api import NomadApiError
from nomad_stateful.nomad.consumer_job import ConsumerJob
from tests.fake_nomad import FakeNomad


@pytest.fixture
def job(nomad: FakeNomad) -> ConsumerJob:
    nomad.put("job/db", {"Stop": True, "TaskGroups": []})
    return ConsumerJob(nomad.api, "default", "db")


def test_a_job_that_another_volumes_release_purged_meanwhile_is_gone(nomad: FakeNomad, job: ConsumerJob) -> None:
    nomad.refuse("job/db", 500, "DeleteJob failed: job not found", method="DELETE")
    assert job.purge_if_ended()


def test_a_purge_that_fails_for_another_reason_is_told(nomad: FakeNomad, job: ConsumerJob) -> None:
    nomad.refuse("job/db", 500, "no leader", method="DELETE")
    with pytest.raises(NomadApiError, match="no leader"):
        job.purge_if_ended()
