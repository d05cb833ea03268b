"""Which cluster a command works on, and how a purged job comes back."""

from collections.abc import Iterator
from typing import Any

import pytest

from nomad_stateful.nomad.api import NomadApi
from operate import ownership, stack
from operate.cluster import Cluster
from operate.errors import TimedOutError
from operate.ownership import WrongClusterError
from tests.providers.fake_nomad import FakeNomad, fake_nomad

MYSQL = {"nomadId": "mysql", "id": "vol-1"}
JOB = {"ID": "mysql-server", "Version": 3, "Stop": False, "TaskGroups": []}


@pytest.fixture
def nomad() -> Iterator[FakeNomad]:
    with fake_nomad() as fake:
        yield fake


@pytest.fixture
def api(nomad: FakeNomad) -> Iterator[NomadApi]:
    api = NomadApi.from_env({}, {"NOMAD_ADDR": nomad.address})
    yield api
    api.close()


def register(nomad: FakeNomad, **external_ids: str) -> None:
    nomad.put("volumes", [{"ID": name, "ExternalID": of, "Namespace": "data"} for name, of in external_ids.items()])


def test_the_stacks_cluster_has_the_stacks_volumes(nomad: FakeNomad, api: NomadApi) -> None:
    register(nomad, mysql="vol-1")
    assert ownership.namespaces(api, {"mysql": MYSQL}) == {"mysql": "data"}
    register(nomad)
    assert ownership.namespaces(api, {"mysql": MYSQL}) == {}


def test_another_volume_under_the_same_id_is_another_cluster(nomad: FakeNomad, api: NomadApi) -> None:
    register(nomad, mysql="vol-2")
    with pytest.raises(WrongClusterError, match="mysql is vol-1 in the stack, but vol-2 in the Nomad cluster at"):
        ownership.namespaces(api, {"mysql": MYSQL})
    # As after an `up` that was cut off.
    register(nomad, mysql="vol-2", spare="vol-3")
    spare = {"nomadId": "spare", "id": "vol-3"}
    assert ownership.namespaces(api, {"mysql": MYSQL, "spare": spare}) == {"spare": "data"}


def test_a_cluster_without_the_volume_is_not_worked_on(
    nomad: FakeNomad, api: NomadApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(nomad)
    monkeypatch.setattr(ownership, "connect", lambda: api)
    monkeypatch.setattr(stack, "outputs", lambda: {"volumes": {"mysql": MYSQL}})
    with pytest.raises(WrongClusterError, match="has no volume mysql"):
        ownership.stack_cluster("mysql")


class Purging:
    """A Nomad whose job stops at once, or not at all."""

    def __init__(self, *, stops: bool = True) -> None:
        self.puts: list[tuple[str, Any]] = []
        self.job: dict[str, Any] | None = dict(JOB)
        self._stops = stops

    def get(self, path: str, **_params: Any) -> Any:
        if path == "job/mysql-server":
            return self.job
        return {"Source": "job file"} if path.endswith("/submission") else []

    find = get

    def delete(self, _path: str, **params: Any) -> None:
        if not self._stops:
            raise TimedOutError("the server does not stop")
        self.job = None if params.get("purge") else {**JOB, "Stop": True}

    def put(self, path: str, body: Any, **_params: Any) -> None:
        self.puts.append((path, body))


@pytest.mark.parametrize("stops", [True, False])
def test_a_job_comes_back_as_it_ran_whatever_becomes_of_the_purge(stops: bool) -> None:
    nomad = Purging(stops=stops)
    cluster = Cluster(nomad, "mysql-server", "default", group="mysql", port_label="db")  # type: ignore[arg-type]
    if stops:
        cluster.purge_and_register()
        assert nomad.job is None
    else:
        with pytest.raises(TimedOutError):
            cluster.purge_and_register()
    assert nomad.puts == [("jobs", {"Job": JOB, "Submission": {"Source": "job file"}})]
