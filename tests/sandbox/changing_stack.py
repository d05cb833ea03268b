"""Changes of a running stack: previewed and made on the real engine, and nothing left to do afterwards."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests import official_parts
from tools.trial.namespaces import allow, management
from tools.trial.running import PROJECT, Running, eventually

ELSEWHERE = "elsewhere"
BASE = "changes-base.yaml"
"""The configuration that every change is an edit of."""
Config = dict[str, Any]


@contextmanager
def changing_stack(folder: Path, start: Config | None = None) -> Iterator[Running]:
    """While a stack with the volumes of changes.yaml is up, on the official nomad plugin where OFFICIAL has it.

    The edits that are given, by dotted path, are what it starts with.
    """
    running = Running.prepare(folder)
    path = running.project / "Pulumi.dev.yaml"
    whole = yaml.safe_load(path.read_text())
    more = yaml.safe_load((PROJECT / "tests/sandbox/changes.yaml").read_text())
    whole["config"]["nomad-stateful:volumes"] = more["volumes"]
    whole["config"]["nomad-stateful:mysql"]["killTimeout"] = "5s"
    (running.project / BASE).write_text(yaml.safe_dump(whole))
    edited(running, start or {}, path)
    with running.up(*official_parts.words()):
        allow(running, ELSEWHERE)
        yield running


def consumers(*names: str, **changes: Any) -> list[Config]:
    known: list[Config] = yaml.safe_load((PROJECT / "tests/sandbox/changes.yaml").read_text())["consumers"]
    return [one | (changes if one["name"] == "logs" else {}) for one in known if one["name"] in names]


def edited(stack: Running, edits: dict[str, Any], path: Path) -> Path:
    """The stack's configuration with edits by dotted path."""
    config = yaml.safe_load((stack.project / BASE).read_text())
    for dotted, value in edits.items():
        top, *inner = dotted.split(".")
        target = config["config"]
        keys: list[Any] = [f"nomad-stateful:{top}", *(int(key) if key.isdigit() else key for key in inner)]
        for key in keys[:-1]:
            target = target[key] if isinstance(target, list) else target.setdefault(key, {})
        target[keys[-1]] = value
    path.write_text(yaml.safe_dump(config))
    return path


TWO_LOGS = consumers("logs", count=2)
GROWN = {"volumes.0.mountFlags": ["noatime"], "volumes.0.sizeGib": 2}
MYSQL_ELSEWHERE: dict[str, Any] = {"consumers": TWO_LOGS, "mysql.volume": "spare", **GROWN}
MYSQL_OTHER: dict[str, Any] = {"consumers": TWO_LOGS, "mysql.jobId": "mysql-other", "mysql.memoryMib": 1100, **GROWN}
OTHER_PLUGIN_JOBS: dict[str, Any] = {
    "consumers": TWO_LOGS,
    "plugins.0.jobIds": {"controller": "ebs-c", "node": "ebs-n"},
    **GROWN,
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


def assert_that_nothing_is_left_to_do(stack: Running, config: Path) -> None:
    """Makes a change; then a preview is empty, refreshed or not, and exactly the jobs of the state run."""
    print(pulumi(stack, "up", "--yes", config=config))
    pulumi(stack, "preview", "--expect-no-changes", config=config)
    pulumi(stack, "preview", "--refresh", "--expect-no-changes", config=config)
    wanted = jobs_in_state(stack)
    eventually(lambda: jobs_in_nomad(stack) == wanted or None, 240, f"{wanted}", lambda: str(jobs_in_nomad(stack)))
