"""What GitHub runs: least permissions, nothing that can change under us, no stranger's code beside a token."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.programs import make_program

GITHUB = Path(__file__).parents[4] / ".github"
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
    # What is tagged is on the main branch.
    of_tags = set(workflow[True]) == {"push"} and set(workflow[True]["push"]) == {"tags"}
    # A token for AWS is not one for GitHub; forks are never given it.
    assert of_tags or not checks_out or rights <= {"id-token"}


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


def run(script: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs a step's script by the shell that GitHub uses."""
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return subprocess.run(words, env=env, capture_output=True, text=True, check=False)


STACK = "sandbox-trial-until-20260131"


def confirmed(stack: str, confirmation: str) -> subprocess.CompletedProcess[str]:
    """What becomes of a confirmation."""
    steps = read(GITHUB / "workflows/destroy.yml")["jobs"]["destroy"]["steps"]
    [script] = [step["run"] for step in steps if step.get("name") == "check the confirmation"]
    return run(script, STACK=stack, CONFIRMATION=confirmation, PATH="/usr/bin:/bin")


def test_a_stack_that_is_for_trying_things_out_may_be_destroyed() -> None:
    assert confirmed(STACK, STACK).returncode == 0


@pytest.mark.parametrize(
    "stack",
    [
        "",
        "production",
        f"{STACK}\nproduction",
        f"production\n{STACK}",
        f"{STACK}\n",
        f"{STACK} production",
        f"{STACK}0",
    ],
)
def test_no_other_stack_may_be_destroyed(stack: str) -> None:
    done = confirmed(stack, stack)
    assert done.returncode == 1
    assert done.stdout.startswith("::error::stack is ")
    assert done.stdout.count("\n") == 1, "what was given must not begin a line, which could be a command"


def test_a_stack_is_destroyed_only_where_its_name_is_given_twice() -> None:
    done = confirmed(STACK, f"{STACK}\n::set-output name=a::b")
    assert (done.returncode, done.stdout.count("\n")) == (1, 1)


@pytest.mark.skipif(shutil.which("jq") is None, reason="needs jq, which GitHub's runners have")
def test_of_all_stacks_only_those_whose_time_is_over_are_taken() -> None:
    steps = read(GITHUB / "workflows/destroy.yml")["jobs"]["destroy"]["steps"]
    [script] = [step["run"] for step in steps if step.get("name") == "destroy"]
    found = re.search(r"jq -r --arg today .*? '(.*?)'\)", script, re.DOTALL)
    assert found is not None
    names = ["production", f"org/project/{STACK}", "sandbox-b-until-20260201", f"{STACK}\nproduction"]
    listed = json.dumps([{"name": name} for name in names])
    command = ["jq", "-r", "--arg", "today", "20260201", found[1]]
    taken = subprocess.run(command, input=listed, capture_output=True, text=True, check=True).stdout
    assert taken.split() == [STACK]


RULES = {
    "protection_rules": [{"type": "required_reviewers"}, {"type": "branch_policy"}],
    "deployment_branch_policy": {"protected_branches": True, "custom_branch_policies": False},
}


def looked_at(folder: Path, rules: dict[str, Any] | None, reviewers: str) -> subprocess.CompletedProcess[str]:
    """What becomes of a job whose environment has these rules; None where GitHub does not answer."""
    [step] = read(GITHUB / "actions/environment-rules/action.yml")["runs"]["steps"]
    make_program(folder / "gh", f"test -n '{'' if rules is None else 1}' && echo '{json.dumps(rules)}'")
    path = f"{folder}:/usr/bin:/bin"
    return run(step["run"], PATH=path, REPOSITORY="o/r", ENVIRONMENT="drill", REVIEWERS=reviewers)


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed; GitHub's runners have it")
@pytest.mark.parametrize(
    ("rules", "reviewers", "said"),
    [
        (RULES, "true", ""),
        (RULES, "false", ""),
        (RULES | {"protection_rules": []}, "false", ""),
        (RULES | {"protection_rules": []}, "true", "environment drill has no required reviewers"),
        ({"protection_rules": []}, "true", "environment drill has no deployment branches"),
        (RULES | {"deployment_branch_policy": None}, "false", "environment drill has no deployment branches"),
        (None, "false", "environment drill: GitHub does not tell its rules"),
    ],
)
def test_a_job_ends_where_its_environment_has_no_rules(
    tmp_path: Path, rules: dict[str, Any] | None, reviewers: str, said: str
) -> None:
    done = looked_at(tmp_path, rules, reviewers)
    assert done.returncode == bool(said)
    assert done.stdout.startswith(f"::error::{said}" if said else "")
    assert not said or "docs/ci.md" in done.stdout
