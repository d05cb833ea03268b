"""What GitHub runs: least permissions, nothing that can change under us, no stranger's code beside a token."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

GITHUB = Path(__file__).parents[3] / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
PINNED = re.compile(r"^\s*-?\s*uses: (\./\S+|[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$")


def read(path: Path) -> dict[Any, Any]:
    """A workflow; YAML reads the key `on` as true."""
    return dict(yaml.safe_load(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "path", [*WORKFLOWS, *sorted(GITHUB.glob("actions/*/action.yml"))], ids=lambda path: str(path.name)
)
def test_every_action_is_pinned_by_its_commit_with_the_version_beside_it(path: Path) -> None:
    uses = [line for line in path.read_text(encoding="utf-8").splitlines() if re.match(r"^\s*-?\s*uses:", line)]
    assert [line for line in uses if not PINNED.match(line)] == []


def test_one_action_has_one_pin_everywhere() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in GITHUB.rglob("*.yml"))
    pins = set(re.findall(r"uses: ([\w.-]+/[\w./-]+)@(\w+)", text))
    assert len(pins) == len({action for action, _ in pins})


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: str(path.name))
def test_a_workflow_starts_with_no_permission_and_says_what_runs_together(path: Path) -> None:
    workflow = read(path)
    assert workflow["permissions"] == {}
    assert workflow["concurrency"]["group"]
    assert all("permissions" in job and "timeout-minutes" in job for job in workflow["jobs"].values())


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: str(path.name))
def test_what_runs_a_pull_requests_code_cannot_write(path: Path) -> None:
    workflow = read(path)
    assert "pull_request_target" not in workflow[True]
    checks_out = "actions/checkout@" in path.read_text(encoding="utf-8")
    rights = {
        right for job in workflow["jobs"].values() for right, level in job["permissions"].items() if level == "write"
    }
    # A token for AWS is not one for GitHub; forks are never given it.
    assert not checks_out or rights <= {"id-token"}


def test_the_sandbox_preview_of_forks_sees_no_secret() -> None:
    job = read(GITHUB / "workflows/preview.yml")["jobs"]["sandbox"]
    assert job["permissions"] == {"contents": "read"}
    assert "environment" not in job
    assert "secrets." not in str(job)


def test_nothing_that_changes_a_stack_is_cancelled() -> None:
    assert read(GITHUB / "workflows/destroy.yml")["concurrency"]["cancel-in-progress"] is False


def test_no_expression_is_pasted_into_a_script() -> None:
    for path in WORKFLOWS:
        for job in read(path)["jobs"].values():
            assert [step["run"] for step in job["steps"] if "${{" in step.get("run", "")] == []
