"""Jobs become a stack's: those of a state without claims, one whose claim was lost, and one that it adopts."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.sandbox.owners import (
    FIRST,
    JOBS,
    OWNERSHIP,
    assert_untouched,
    claims,
    deploy_first,
    edit_state,
    management,
    pulumi,
    two_stacks,
)
from tools.trial.running import Running

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with two_stacks(tmp_path_factory.mktemp("owners")) as running:
        yield running


@pytest.fixture(scope="module")
def first(place: Running) -> str:
    """The allocation that runs the first stack's MySQL."""
    return deploy_first(place)


def configure(running: Running, stack: str, **settings: Any) -> None:
    """Sets settings of a stack; None removes one."""
    path = running.project / f"Pulumi.{stack}.yaml"
    known = yaml.safe_load(path.read_text(encoding="utf-8"))
    for key, value in settings.items():
        known["config"][f"nomad-stateful:{key}"] = value
    known["config"] = {key: value for key, value in known["config"].items() if value is not None}
    path.write_text(yaml.safe_dump(known), encoding="utf-8")


def test_a_state_without_claims_takes_them_by_itself_and_restarts_nothing(place: Running, first: str) -> None:
    pulumi(place, "stack", "select", "first")
    api = management(place)
    for job in JOBS:
        api.delete(f"var/nomad/jobs/nomad-stateful/jobs/{job}")
    api.close()
    edit_state(place, "first", "first", lambda one: one["type"] != OWNERSHIP)
    assert "refused" not in pulumi(place, "preview")
    pulumi(place, "up", "--yes", "--skip-preview")
    assert claims(place) == dict.fromkeys(JOBS, FIRST)
    pulumi(place, "preview", "--expect-no-changes")
    assert_untouched(place, first)


def test_a_claim_that_is_lost_is_taken_again(place: Running, first: str) -> None:
    api = management(place)
    api.delete("var/nomad/jobs/nomad-stateful/jobs/mysql-server")
    api.close()
    pulumi(place, "up", "--yes", "--skip-preview", "--stack", "first")
    assert "mysql-server" in claims(place)
    assert_untouched(place, first)


def test_a_job_made_by_hand_is_taken_over_only_where_it_is_adopted(place: Running, first: str) -> None:
    job = {
        "ID": "notes",
        "Datacenters": ["*"],
        "Type": "service",
        "TaskGroups": [
            {"Name": "g", "Count": 0, "Tasks": [{"Name": "t", "Driver": "exec", "Config": {"command": "/bin/true"}}]}
        ],
    }
    place.nomad.put("jobs", {"Job": job})
    volume = {"name": "notes", "zone": "us-west-2a", "sizeGib": 1, "protect": False, "finalSnapshot": False}
    volumes = yaml.safe_load((place.project / "Pulumi.first.yaml").read_text())["config"]["nomad-stateful:volumes"]
    consumer = {
        "name": "notes",
        "taskDriver": "exec",
        "command": "/bin/sleep",
        "args": ["9999"],
        "mounts": [{"volume": "notes", "path": "/data"}],
    }
    configure(place, "first", volumes=[*volumes[:1], volume], consumers=[consumer])
    said = pulumi(place, "preview", "--stack", "first", fails=True)
    assert (
        "consumers.notes.name is notes: namespace default has such a job, and it is not in this stack's state: it, or "
        "its variable, would be overwritten, and purged by a destroy. Choose another id, or another "
        "placement.namespace; if it is to become this stack's, list it in adopt: [notes]."
    ) in said
    configure(place, "first", adopt=["notes"])
    pulumi(place, "up", "--yes", "--skip-preview", "--stack", "first")
    assert claims(place)["notes"] == FIRST
    configure(place, "first", adopt=None)
    pulumi(place, "preview", "--expect-no-changes", "--stack", "first")
    configure(place, "first", volumes=volumes[:1], consumers=None)
    pulumi(place, "up", "--yes", "--skip-preview", "--stack", "first")
    assert "notes" not in claims(place)
    assert_untouched(place, first)
