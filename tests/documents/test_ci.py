"""docs/ci.md holds of the workflows: every environment has rules, every secret a place, every role one workflow."""

import json
import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

TOP: Final = Path(__file__).parents[2]
PAGE: Final = (TOP / "docs/ci.md").read_text(encoding="utf-8")
ISSUER: Final = "token.actions.githubusercontent.com"
ENVIRONMENTS: Final = {
    "preview": "preview",
    "drill": "drill",
    "sandbox-destroy": "destroy",
    "sandbox-expiry": "destroy",
}
"""Environment -> the workflow that uses it."""
TRUST: Final = {"preview": "preview", "drill": "drill", "sandbox": "destroy"}
"""Trust policy -> the workflow whose role has it."""
UNASKED_S: Final = 3600
"""For how long AWS lets a role be assumed that was made without --max-session-duration."""


def workflow(name: str) -> dict[str, Any]:
    return dict(yaml.safe_load((TOP / f".github/workflows/{name}.yml").read_text(encoding="utf-8")))


def jobs() -> list[tuple[str, dict[str, Any]]]:
    """The jobs that run in an environment, with the workflow's name."""
    found = [path.stem for path in (TOP / ".github/workflows").glob("*.yml")]
    return [(name, job) for name in found for job in workflow(name)["jobs"].values() if "environment" in job]


def test_each_environment_of_a_workflow_is_on_the_page_with_branch_rules() -> None:
    used = {(env, name) for name, job in jobs() for env in re.findall(r"[a-z]+-?[a-z]+", str(job["environment"]))}
    assert {(env, name) for env, name in used if env in ENVIRONMENTS} == set(ENVIRONMENTS.items())
    protected = re.findall(r"for environment in (.+); do\n(?:.*\n)*?.*(?:protected_branches)", PAGE)
    assert {env for line in protected for env in line.split()} == set(ENVIRONMENTS)


@pytest.mark.parametrize(("name", "job"), jobs(), ids=lambda value: value if isinstance(value, str) else "")
def test_the_rules_are_looked_at_before_anything_gets_a_credential(name: str, job: dict[str, Any]) -> None:
    used = [step.get("uses", "").partition("@")[0] for step in job["steps"]]
    rules = used.index("./.github/actions/environment-rules")
    assert rules < used.index("aws-actions/configure-aws-credentials")
    assert rules < used.index("./.github/actions/toolchain")
    assert job["steps"][rules]["with"]["environment"] == job["environment"]
    assert not any("secrets." in str(step) for step in job["steps"][:rules])
    assert job["permissions"]["actions"] == "read"


@pytest.mark.parametrize(("name", "job"), jobs(), ids=lambda value: value if isinstance(value, str) else "")
def test_nothing_that_an_earlier_commit_has_cached_runs_beside_a_credential(name: str, job: dict[str, Any]) -> None:
    used = [step.get("uses", "").partition("@")[0] for step in job["steps"]]
    assert not [one for one in used if one.startswith("actions/cache")], name
    assert job["steps"][used.index("./.github/actions/toolchain")]["with"] == {"cache": "false"}


def test_the_toolchain_uses_no_cache_where_it_is_told_so() -> None:
    action = yaml.safe_load((TOP / ".github/actions/toolchain/action.yml").read_text(encoding="utf-8"))
    steps = [one for one in action["runs"]["steps"] if "cache" in one.get("uses", "")]
    assert steps
    assert {one.get("if") for one in steps} == {"inputs.cache != 'false'"}
    assert action["inputs"]["cache"]["default"] == "true"


def test_each_secret_and_variable_of_such_a_job_is_set_in_each_of_its_environments() -> None:
    used = {
        (environment, name)
        for environment, of in ENVIRONMENTS.items()
        for workflow_, job in jobs()
        if workflow_ == of
        for name in re.findall(r"(?:secrets|vars)\.(\w+)", str(job))
    }
    there = placed()
    assert {(env, name) for env, name in used if not {(env, name), ("the repository", name)} & there} == set()


def placed() -> set[tuple[str, str]]:
    """Where the page puts secrets and variables: by its commands, and in its table of what else there is."""
    found = set(re.findall(r"^\$ .*gh (?:variable|secret) set (\w+) --env ([a-z-]+)", PAGE, re.MULTILINE))
    for environments, commands in re.findall(
        r"^\$ for environment in (.+); do\n((?:  .*\n)+?)  done$", PAGE, re.MULTILINE
    ):
        names = re.findall(r"gh (?:variable|secret) set (\w+) --env \$environment", commands)
        found |= {(name, environment) for name in names for environment in environments.split()}
    for names, environments in re.findall(r"^\| (?:secret|variable)s? (.+?) \| (.+?) \|", PAGE, re.MULTILINE):
        of = re.findall(r"`([a-z-]+)`", environments) or [environments]
        found |= {(name, environment) for name in re.findall(r"`(\w+)`", names) for environment in of}
    return {(environment, name) for name, environment in found}


def test_a_role_may_be_assumed_for_as_long_as_its_workflow_asks() -> None:
    asked = {
        (name, step["with"]["role-duration-seconds"])
        for name, job in jobs()
        for step in job["steps"]
        if step.get("with", {}).get("role-duration-seconds", 0) > UNASKED_S
    }
    allowed = re.findall(r"--role-name nomad-stateful-(\w+) --max-session-duration (\d+)", PAGE)
    assert asked == {(name, int(seconds)) for name, seconds in allowed}


def trusts(policy: str, claims: dict[str, str]) -> bool:
    """Whether the trust policy takes a token of GitHub with these claims."""
    [statement] = json.loads((TOP / f"examples/aws/github/{policy}-trust.json").read_text())["Statement"]
    assert statement["Action"] == "sts:AssumeRoleWithWebIdentity"
    assert statement["Principal"] == {"Federated": f"arn:aws:iam::ACCOUNT:oidc-provider/{ISSUER}"}
    asked = [
        (test, key.removeprefix(f"{ISSUER}:"), wanted if isinstance(wanted, list) else [wanted])
        for test, keys in statement["Condition"].items()
        for key, wanted in keys.items()
    ]
    assert {test for test, _, _ in asked} <= {"StringEquals", "StringLike"}
    return all(
        any(fnmatchcase(claims[key], one) if test == "StringLike" else claims[key] == one for one in wanted)
        for test, key, wanted in asked
    )


def token(environment: str, workflow_: str, ref: str, **changed: str) -> dict[str, str]:
    claims = {
        "aud": "sts.amazonaws.com",
        "sub": f"repo:OWNER/REPOSITORY:environment:{environment}",
        "job_workflow_ref": f"OWNER/REPOSITORY/.github/workflows/{workflow_}.yml@{ref}",
    }
    return claims | changed


@pytest.mark.parametrize("policy", TRUST)
def test_a_role_is_given_to_one_workflow_in_its_environment(policy: str) -> None:
    name = TRUST[policy]
    ref = "refs/pull/7/merge" if policy == "preview" else "refs/heads/main"
    own = [env for env, of in ENVIRONMENTS.items() if of == name]
    assert all(trusts(policy, token(env, name, ref)) for env in own)
    others = [env for env in ENVIRONMENTS if env not in own]
    assert not any(trusts(policy, token(env, name, ref)) for env in [*others, "production", ""])
    for claims in (
        token(own[0], name, "refs/heads/mine"),
        token(own[0], "mine", ref),
        token(own[0], name, ref, aud="https://github.com/OWNER"),
        token(own[0], name, ref, sub="repo:OWNER/REPOSITORY:ref:refs/heads/main"),
        token(own[0], name, ref, sub=f"repo:OTHER/REPOSITORY:environment:{own[0]}"),
        token(own[0], name, ref, job_workflow_ref=f"OTHER/REPOSITORY/.github/workflows/{name}.yml@{ref}"),
    ):
        assert not trusts(policy, claims), claims
