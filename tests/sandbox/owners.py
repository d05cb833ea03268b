"""Two stacks of the same settings in one sandbox, and whose the jobs are."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from nomad_stateful.nomad.api import NomadApi
from tests import official_parts
from tools.trial.running import Running

JOBS = ("plugin-aws-ebs0-controller", "plugin-aws-ebs0-node", "mysql-server")
OWNERSHIP = "nomad-csi:index:Ownership"
FIRST = "organization/nomad-stateful/first"
State = dict[str, Any]


@contextmanager
def two_stacks(folder: Path) -> Iterator[Running]:
    """While a sandbox is up with two stacks of the same settings, of which neither is deployed.

    On the official nomad plugin, where it is there: it registers jobs and deletes them without asking whose they are.
    """
    running = Running.prepare(folder)
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


def deploy_first(place: Running) -> str:
    """Deploys the first stack, with a row; the allocation that runs its MySQL."""
    pulumi(place, "stack", "select", "first")
    pulumi(place, "up", "--yes", "--skip-preview")
    at = place.server_endpoint()
    place.sql(
        at, "CREATE DATABASE IF NOT EXISTS kept", "CREATE TABLE kept.rows (a INT)", "INSERT INTO kept.rows VALUES (7)"
    )
    return at.allocation_id


def assert_untouched(place: Running, allocation: str) -> None:
    at = place.server_endpoint()
    assert at.allocation_id == allocation
    assert place.sql(at, "SELECT a FROM kept.rows") == [(7,)]
    assert running_jobs(place) == dict.fromkeys(JOBS, "running")
