"""Every change that the documents describe, on the real engine: previewed, made, and nothing left to do afterwards.

On the official nomad plugin, where it is there; `make nightly` has the same on the embedded one.
"""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import official_parts
from tools.trial.namespaces import allow, management
from tools.trial.running import PROJECT, Running, eventually

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad]

ELSEWHERE = "elsewhere"
Config = dict[str, Any]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running.prepare(tmp_path_factory.mktemp("project"))
    path = running.project / "Pulumi.dev.yaml"
    whole = yaml.safe_load(path.read_text())
    more = yaml.safe_load((PROJECT / "tests/sandbox/changes.yaml").read_text())
    whole["config"]["nomad-stateful:volumes"] = more["volumes"]
    whole["config"]["nomad-stateful:mysql"]["killTimeout"] = "5s"
    path.write_text(yaml.safe_dump(whole))
    with running.up(*official_parts.words()):
        allow(running, ELSEWHERE)
        yield running


def consumers(*names: str, **changes: Any) -> list[Config]:
    known: list[Config] = yaml.safe_load((PROJECT / "tests/sandbox/changes.yaml").read_text())["consumers"]
    return [one | (changes if one["name"] == "logs" else {}) for one in known if one["name"] in names]


def edited(stack: Running, edits: dict[str, Any], path: Path) -> Path:
    """The stack's configuration with edits by dotted path."""
    config = copy.deepcopy(yaml.safe_load((stack.project / "Pulumi.dev.yaml").read_text()))
    for dotted, value in edits.items():
        top, *inner = dotted.split(".")
        target = config["config"]
        keys: list[Any] = [f"nomad-stateful:{top}", *(int(key) if key.isdigit() else key for key in inner)]
        for key in keys[:-1]:
            target = target[key]
        target[keys[-1]] = value
    path.write_text(yaml.safe_dump(config))
    return path


BOTH = consumers("logs", "keeper")
TWO_LOGS = consumers("logs", count=2)
NEW_PLUGIN = {"plugins.0.id": "ebs1", "plugins.0.stagePublishBaseDir": "/mnt/nomad/client/csi/node/ebs1"}
GROWN = {"volumes.0.mountFlags": ["noatime"], "volumes.0.sizeGib": 2}
CHANGES: dict[str, dict[str, Any]] = {
    "consumers added, mount flags": {"consumers": BOTH, "volumes.0.mountFlags": ["noatime"]},
    "a consumer scaled, a volume grown": {
        "consumers": consumers("logs", "keeper", count=2),
        **GROWN,
    },
    "a consumer renamed": {
        "consumers": [*TWO_LOGS, consumers("keeper")[0] | {"name": "archive", "renamedFrom": "keeper"}],
        **GROWN,
    },
    "a consumer removed, MySQL on another volume": {"consumers": TWO_LOGS, "mysql.volume": "spare", **GROWN},
    "another id of MySQL's job, more memory, and its volume back": {
        "consumers": TWO_LOGS,
        "mysql.jobId": "mysql-other",
        "mysql.memoryMib": 400,
        **GROWN,
    },
    "MySQL's id back, other ids of the plugin's jobs": {
        "consumers": TWO_LOGS,
        "plugins.0.jobIds": {"controller": "ebs-c", "node": "ebs-n"},
        **GROWN,
    },
    "another namespace": {"consumers": TWO_LOGS, "placement.namespace": ELSEWHERE, **GROWN},
    "the namespace back, another plugin id": {"consumers": TWO_LOGS, **NEW_PLUGIN, **GROWN},
}


def pulumi(stack: Running, *words: str, config: Path) -> str:
    done = stack.run("pulumi", *words, "--non-interactive", "--config-file", str(config), timeout_s=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def jobs_in_nomad(stack: Running) -> dict[str, bool]:
    """The jobs that are not dead, by namespace and id, and whether each allocation that is wanted runs."""
    api = management(stack)
    listed = [job for job in api.get("jobs", namespace="*") if job["Status"] != "dead"]
    api.close()
    return {f"{job['Namespace']}/{job['ID']}": job["Status"] == "running" and _runs(job) for job in listed}


def _runs(job: dict[str, Any]) -> bool:
    groups = job["JobSummary"]["Summary"].values()
    return all(group["Running"] > 0 and not group["Queued"] and not group["Starting"] for group in groups)


def jobs_in_state(stack: Running) -> dict[str, bool]:
    exported = json.loads(stack.run("pulumi", "stack", "export").stdout)["deployment"]["resources"]
    jobs = [one["outputs"] for one in exported if one["type"] == "nomad:index/job:Job"]
    return {f"{job['namespace']}/{job['name']}": True for job in jobs}


def test_a_second_stack_can_be_previewed_before_anything_of_it_is_there(stack: Running, tmp_path: Path) -> None:
    backend = tmp_path / "backend"
    backend.mkdir()
    there = Running(stack.project, {**stack.env, "PULUMI_BACKEND_URL": f"file://{backend}"}, stack.ground)
    try:
        assert there.run("pulumi", "stack", "init", "second", "--no-select", "--non-interactive").returncode == 0
        # In its own namespace: the ids of the first one are taken.
        config = edited(stack, {"placement.namespace": ELSEWHERE}, tmp_path / "Pulumi.second.yaml")
        preview = there.run("pulumi", "preview", "--non-interactive", "--stack", "second", "--config-file", str(config))
        assert preview.returncode == 0, preview.stdout + preview.stderr
    finally:
        (stack.project / "Pulumi.second.yaml").unlink(missing_ok=True)


@pytest.mark.parametrize("change", CHANGES)
def test_after_a_change_nothing_is_left_to_do_and_exactly_the_configured_jobs_run(
    stack: Running, tmp_path: Path, change: str
) -> None:
    config = edited(stack, CHANGES[change], tmp_path / "Pulumi.dev.yaml")
    pulumi(stack, "preview", config=config)
    print(pulumi(stack, "up", "--yes", "--skip-preview", config=config))
    pulumi(stack, "preview", "--expect-no-changes", config=config)
    pulumi(stack, "preview", "--refresh", "--expect-no-changes", config=config)
    wanted = jobs_in_state(stack)
    eventually(lambda: jobs_in_nomad(stack) == wanted or None, 240, f"{wanted}", lambda: str(jobs_in_nomad(stack)))


def test_after_all_that_the_stack_can_be_destroyed_and_no_job_is_left(stack: Running) -> None:
    destroyed = stack.run("pulumi", "destroy", "--yes", "--skip-preview", "--non-interactive", timeout_s=600)
    assert destroyed.returncode == 0, destroyed.stdout + destroyed.stderr
    eventually(lambda: jobs_in_nomad(stack) == {} or None, 240, "no job", lambda: str(jobs_in_nomad(stack)))
