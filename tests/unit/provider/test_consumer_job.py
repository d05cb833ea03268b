from typing import Any, cast

import pytest

from nomad_stateful.nomad.api import NomadApi, NomadApiError
from nomad_stateful.nomad.consumer_job import ConsumerJob


class Purging:
    """A Nomad with a stopped job, whose purge ends in an error."""

    def __init__(self, said: str) -> None:
        self._said = said

    def find(self, path: str, **query: Any) -> dict[str, Any]:
        return {"ID": "db", "Stop": True, "TaskGroups": []}

    def delete(self, path: str, **query: Any) -> None:
        raise NomadApiError(500, self._said)


def test_a_job_that_another_volumes_release_purged_meanwhile_is_gone() -> None:
    assert ConsumerJob(cast("NomadApi", Purging("DeleteJob failed: job not found")), "default", "db").purge_if_ended()


def test_a_purge_that_fails_for_another_reason_is_told() -> None:
    with pytest.raises(NomadApiError, match="no leader"):
        ConsumerJob(cast("NomadApi", Purging("no leader")), "default", "db").purge_if_ended()
