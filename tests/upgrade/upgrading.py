"""What today's program would do to a stack of an earlier release: a plan of the real engine, without a refresh."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nomad_stateful.resource_types import OWNERSHIP
from sandbox.stack.stack_file import read_salt
from tools.preview_report import document
from tools.preview_report.document import Preview
from tools.preview_report.verdict import loses_data
from tools.trial.running import Running

FOLDER = Path(__file__).parent
STACK = "dev"


def releases() -> list[str]:
    """The releases whose state is kept here, oldest first."""
    found = [path.parent.name for path in FOLDER.glob("*/state.json")]
    return sorted(found, key=lambda version: [int(part) for part in version.split(".")])


def documented(version: str) -> list[str]:
    """What docs/upgrades.md says that an upgrade from a release does: `update ebs-*-guard` and the like."""
    text = (FOLDER.parents[1] / "docs/upgrades.md").read_text(encoding="utf-8")
    section = text[text.index(f"## From {version}\n") :].split("\n## ")[0]
    rows = re.findall(r"^\| (create|update|replace|delete) \| ([^|]+) \|", section, re.MULTILINE)
    return [f"{operation} {name}" for operation, names in rows for name in re.findall(r"`([^`]+)`", names)]


@dataclass(frozen=True)
class Plan:
    """What an update would do."""

    preview: Preview

    @property
    def resources(self) -> int:
        """How many resources it is about."""
        return self.preview.unchanged + len(self.preview.steps)

    @property
    def losses(self) -> list[str]:
        """Deletions and replacements of what holds data."""
        return [f"{step.operation} {step.name}" for step in self.preview.steps if loses_data(step.operation, step.type)]

    @property
    def changes(self) -> list[str]:
        """Everything it would do."""
        return [
            f"{step.operation} {step.name}" for step in self.preview.steps if step.operation not in ("same", "read")
        ]


def plan(stack: Running, version: str, folder: Path, edit: Callable[[str], str] = str) -> Plan:
    """Imports a release's state, edited, into a backend of its own, and previews it against the sandbox.

    The identities in the state are not those of the sandbox: the plan compares the program with the state alone. But
    whose a job is, and whether somebody else has changed it since, preflight and the provider ask Nomad.
    """
    project = folder / "project"
    shutil.copytree(stack.project, project, symlinks=True, ignore=shutil.ignore_patterns(".sandbox", "__pycache__"))
    shutil.copy2(FOLDER / version / "Pulumi.dev.yaml", project / "Pulumi.dev.yaml")
    (folder / "backend").mkdir()
    there = Running(project, {**stack.env, "PULUMI_BACKEND_URL": f"file://{folder / 'backend'}"}, stack.ground)
    _pulumi(there, "stack", "init", STACK, "--secrets-provider", "passphrase")
    state = json.loads(edit((FOLDER / version / "state.json").read_text(encoding="utf-8")))
    _take_for_the_stacks_own(state, stack)
    # An import encrypts by what the state names.
    salt = read_salt(project / "Pulumi.dev.yaml")
    state["deployment"]["secrets_providers"] = {"type": "passphrase", "state": {"salt": salt}}
    (folder / "state.json").write_text(json.dumps(state), encoding="utf-8")
    _pulumi(there, "stack", "import", "--stack", STACK, "--file", str(folder / "state.json"))
    printed = _pulumi(there, "preview", "--stack", STACK, "--json")
    return Plan(document.parse(printed[printed.index("{") :]))


def _take_for_the_stacks_own(state: dict[str, Any], stack: Running) -> None:
    owners = {one["id"]: one["outputs"]["ownerId"] for one in _resources(stack) if one["type"] == OWNERSHIP}
    resources = state["deployment"]["resources"]
    today: dict[str, str] = {}
    """Owners and indexes of jobs, by what they were."""
    for resource in resources:
        if resource["type"] == OWNERSHIP:
            today[resource["outputs"]["ownerId"]] = resource["outputs"]["ownerId"] = owners[resource["id"]]
        if resource["type"] == "nomad:index/job:Job":
            now = str(stack.nomad.get(f"job/{resource['id']}")["JobModifyIndex"])
            today[resource["outputs"]["modifyIndex"]] = resource["outputs"]["modifyIndex"] = now
    # What waits for a job waits again where its owner or index is another one.
    for values in (one.get(where) or {} for one in resources for where in ("inputs", "outputs")):
        if values.get("ownerId") in today:
            values["ownerId"] = today[values["ownerId"]]
        if triggers := values.get("triggers"):
            values["triggers"] = {key: today.get(value, value) for key, value in triggers.items()}


def _resources(stack: Running) -> list[dict[str, Any]]:
    return list(json.loads(_pulumi(stack, "stack", "export", "--stack", STACK))["deployment"]["resources"])


def _pulumi(there: Running, *words: str) -> str:
    done = there.run("pulumi", *words, "--non-interactive")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
