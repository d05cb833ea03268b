"""Two stacks in one namespace with the same ids: the second overwrites nothing of the first, and purges nothing of it.

On the official nomad plugin, where it is there: it registers jobs and deletes them without asking whose they are.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from nomad_stateful.nomad.api import NomadApi
from tests import official_parts
from tools.trial.running import Running

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad]

JOBS = ("plugin-aws-ebs0-controller", "plugin-aws-ebs0-node", "mysql-server")
OWNERSHIP = "nomad-csi:index:Ownership"
State = dict[str, Any]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A sandbox with two stacks of the same settings, of which neither is deployed."""
    running = Running.prepare(tmp_path_factory.mktemp("owners"))
    known = yaml.safe_load((running.project / "Pulumi.dev.yaml").read_text(encoding="utf-8"))
    known.pop("encryptionsalt", None)
    known["config"]["nomad-stateful:volumes"][1:] = []
    known["config"]["nomad-stateful:volumes"][0]["protect"] = False
    known["config"]["nomad-stateful:volumes"][0]["finalSnapshot"] = False
    known["config"]["nomad-stateful:mysql"].pop("backup", None)
    for name in ("first", "second"):
        (running.project / f"Pulumi.{name}.yaml").write_text(yaml.safe_dump(known), encoding="utf-8")
    with running.up("--no-stack", *official_parts.words()):
        for name in ("second", "first"):
            pulumi(running, "stack", "init", name)
        yield running


def pulumi(running: Running, *words: str, fails: bool = False) -> str:
    done = running.run("pulumi", *words, "--non-interactive")
    said = done.stdout + done.stderr
    assert (done.returncode != 0) == fails, said
    return said


def configure(running: Running, stack: str, **settings: Any) -> None:
    """Sets settings of a stack; None removes one."""
    path = running.project / f"Pulumi.{stack}.yaml"
    known = yaml.safe_load(path.read_text(encoding="utf-8"))
    for key, value in settings.items():
        known["config"][f"nomad-stateful:{key}"] = value
    known["config"] = {key: value for key, value in known["config"].items() if value is not None}
    path.write_text(yaml.safe_dump(known), encoding="utf-8")


def edit_state(running: Running, source: str, target: str, keep: Callable[[State], Any]) -> None:
    """Gives a stack the state of another (or of itself), without some resources."""
    exported = running.run("pulumi", "stack", "export", "--stack", source, "--show-secrets")
    text = exported.stdout.replace(f"urn:pulumi:{source}::", f"urn:pulumi:{target}::")
    state = json.loads(text)
    kept = [one for one in state["deployment"]["resources"] if keep(one)]
    gone = {one["urn"] for one in state["deployment"]["resources"]} - {one["urn"] for one in kept}
    for one in kept:
        one["dependencies"] = [urn for urn in one.get("dependencies", []) if urn not in gone]
        depends = one.get("propertyDependencies") or {}
        one["propertyDependencies"] = {
            key: [urn for urn in urns or [] if urn not in gone] for key, urns in depends.items()
        }
        if one["type"] == "nomad-csi:index:JobHealth":
            one["inputs"].pop("ownerId", None)
            one["outputs"].pop("ownerId", None)
    state["deployment"]["resources"] = kept
    path = running.project / "edited.json"
    path.write_text(json.dumps(state), encoding="utf-8")
    pulumi(running, "stack", "import", "--stack", target, "--file", str(path), "--force")


def management(running: Running) -> NomadApi:
    token = (running.project / ".sandbox/nomad/management.token").read_text().strip()
    return NomadApi.from_env({"token": token}, running.env)


def claims(running: Running) -> dict[str, str]:
    """The stack that has the claim to each job, by the job's id."""
    api = management(running)
    folder = "nomad/jobs/nomad-stateful/jobs/"
    found = {one["Path"]: api.get(f"var/{one['Path']}")["Items"]["stack"] for one in api.get("vars", prefix=folder)}
    api.close()
    return {path.removeprefix(folder): stack for path, stack in found.items()}


def running_jobs(running: Running) -> dict[str, str]:
    return {job["ID"]: job["Status"] for job in running.nomad.get("jobs") if not job.get("Stop")}


@pytest.fixture(scope="module")
def first(place: Running) -> str:
    """The first stack, deployed after both were previewed; the allocation that runs its MySQL."""
    for stack in ("second", "first"):
        assert "to create" in pulumi(place, "preview", "--stack", stack)
    pulumi(place, "stack", "select", "first")
    pulumi(place, "up", "--yes", "--skip-preview")
    at = place.mysql_endpoint()
    place.sql(
        at, "CREATE DATABASE IF NOT EXISTS kept", "CREATE TABLE kept.rows (a INT)", "INSERT INTO kept.rows VALUES (7)"
    )
    return at.allocation_id


def assert_untouched(place: Running, allocation: str) -> None:
    at = place.mysql_endpoint()
    assert at.allocation_id == allocation
    assert place.sql(at, "SELECT a FROM kept.rows") == [(7,)]
    assert running_jobs(place) == dict.fromkeys(JOBS, "running")


def test_both_previews_were_green_and_the_second_up_takes_nothing(place: Running, first: str) -> None:
    assert claims(place) == dict.fromkeys(JOBS, "organization/nomad-stateful/first")
    for words in (("preview",), ("up", "--yes", "--skip-preview")):
        said = pulumi(place, *words, "--stack", "second", fails=True)
        assert "nothing was created" in said
        assert (
            "mysql.jobId is mysql-server: the job of this id in namespace default belongs to another stack, "
            "organization/nomad-stateful/first. Choose another id, or another placement.namespace."
        ) in said
        assert "plugins.aws-ebs0.jobIds.node is plugin-aws-ebs0-node: the job of this id" in said
        assert "volumes.mysql.name is mysql: namespace default has such a volume" in said
    pulumi(place, "destroy", "--yes", "--skip-preview", "--stack", "second")
    assert_untouched(place, first)
    pulumi(place, "preview", "--expect-no-changes", "--stack", "first")
    pulumi(place, "preview", "--expect-no-changes", "--refresh", "--stack", "first")


def test_a_state_without_claims_takes_them_by_itself_and_restarts_nothing(place: Running, first: str) -> None:
    pulumi(place, "stack", "select", "first")
    api = management(place)
    for job in JOBS:
        api.delete(f"var/nomad/jobs/nomad-stateful/jobs/{job}")
    api.close()
    edit_state(place, "first", "first", lambda one: one["type"] != OWNERSHIP)
    assert "refused" not in pulumi(place, "preview")
    pulumi(place, "up", "--yes", "--skip-preview")
    assert claims(place) == dict.fromkeys(JOBS, "organization/nomad-stateful/first")
    pulumi(place, "preview", "--expect-no-changes")
    assert_untouched(place, first)


def test_a_claim_that_is_lost_is_taken_again(place: Running, first: str) -> None:
    api = management(place)
    api.delete("var/nomad/jobs/nomad-stateful/jobs/mysql-server")
    api.close()
    pulumi(place, "up", "--yes", "--skip-preview", "--stack", "first")
    assert "mysql-server" in claims(place)
    assert_untouched(place, first)


def test_a_state_that_has_the_firsts_jobs_purges_nothing_of_it(place: Running, first: str) -> None:
    """As two stacks of a release without claims could come to be; and where a claim is told of, it counts."""
    edit_state(place, "first", "second", lambda one: one["type"] != OWNERSHIP and "aws:" not in f"{one['type']}:")
    said = pulumi(place, "destroy", "--yes", "--skip-preview", "--stack", "second", fails=True)
    assert (
        "job mysql-server (namespace default) belongs to the stack organization/nomad-stateful/first, so this stack "
        "does not stop or purge it"
    ) in " ".join(said.split())
    assert_untouched(place, first)
    assert "belongs to another stack" in pulumi(place, "preview", "--stack", "second", fails=True)


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
    assert claims(place)["notes"] == "organization/nomad-stateful/first"
    configure(place, "first", adopt=None)
    pulumi(place, "preview", "--expect-no-changes", "--stack", "first")
    configure(place, "first", volumes=volumes[:1], consumers=None)
    pulumi(place, "up", "--yes", "--skip-preview", "--stack", "first")
    assert "notes" not in claims(place)
    assert_untouched(place, first)


def test_once_the_first_is_destroyed_its_ids_are_free(place: Running, first: str) -> None:
    pulumi(place, "destroy", "--yes", "--skip-preview", "--stack", "first")
    assert claims(place) == {}
    assert running_jobs(place) == {}
    edit_state(place, "second", "second", lambda one: one["type"] == "pulumi:pulumi:Stack")
    assert "to create" in pulumi(place, "preview", "--stack", "second")
