"""Which stack a command is about, and which account and region it is in, by its own state."""

from pathlib import Path
from typing import Any

import pytest

from nomad_stateful.ebs.ec2_client import AwsPlace
from nomad_stateful.operate import stack


def place(monkeypatch: pytest.MonkeyPatch, *arns: str, **config: Any) -> AwsPlace:
    resources = [{"type": "aws:ebs/volume:Volume", "outputs": {"arn": arn}} for arn in arns]
    resources.append({"type": "pulumi:pulumi:Stack", "outputs": {"arn": "arn:aws:ec2:x:999999999999:volume/vol-1"}})
    answers = {
        "stack": {"deployment": {"resources": resources}},
        "config": {f"aws:{key}": value for key, value in config.items()},
    }
    monkeypatch.setattr(stack, "_json", lambda *words: answers[words[0]])
    return stack.aws_place.__wrapped__()


def test_account_and_region_are_those_of_the_resources(monkeypatch: pytest.MonkeyPatch) -> None:
    found = place(
        monkeypatch,
        "arn:aws:ec2:us-west-2:111111111111:volume/vol-1",
        "arn:aws:iam::111111111111:policy/ebs",
        "arn:aws:iam::aws:policy/AWS-managed",
        region={"value": "eu-west-1"},
    )
    assert found == AwsPlace("us-west-2", "111111111111")


def test_two_accounts_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    found = place(
        monkeypatch,
        "arn:aws:ec2:us-west-2:111111111111:volume/vol-1",
        "arn:aws:ec2:us-west-2:222222222222:volume/vol-2",
    )
    assert found.account_id == ""


def test_the_aws_providers_configuration_comes_along(monkeypatch: pytest.MonkeyPatch) -> None:
    found = place(
        monkeypatch,
        region={"value": "eu-west-1"},
        profile={"value": "prod"},
        assumeRoles={"value": "[…]", "objectValue": [{"roleArn": "arn:aws:iam::111111111111:role/r"}]},
        defaultTags={"value": "{}", "objectValue": {"tags": {}}},
    )
    assert found.region == "eu-west-1"
    assert found.config == '{"assumeRoles": [{"roleArn": "arn:aws:iam::111111111111:role/r"}], "profile": "prod"}'


@pytest.fixture
def stacks(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What `pulumi stack ls` lists."""
    listed: list[dict[str, Any]] = []
    monkeypatch.delenv("PULUMI_STACK", raising=False)
    monkeypatch.setattr(stack._Chosen, "name", "")
    monkeypatch.setattr(stack, "_run", lambda *_words: listed)
    return listed


def test_the_only_stack_is_taken_and_named(stacks: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> None:
    stacks.append({"name": "dev", "current": False})
    assert stack.choose("", "nomad-stateful verify", acts=True) == "dev"
    assert capsys.readouterr().err == "stack dev\n"


def test_of_several_stacks_what_acts_has_to_name_one(stacks: list[dict[str, Any]]) -> None:
    stacks += [{"name": "prod", "current": True}, {"name": "dev", "current": False}]
    with pytest.raises(stack.StackError) as refused:
        stack.choose("", "nomad-stateful verify", acts=True)
    assert str(refused.value) == (
        "--stack is not set: there are the stacks dev, prod (selected: prod), and `nomad-stateful verify` needs a "
        "name. Add --stack prod, or set PULUMI_STACK"
    )
    assert stack.choose("", "nomad-stateful status", acts=False) == "prod"
    assert stack.choose("dev", "nomad-stateful verify", acts=True) == "dev"


def test_the_environment_names_a_stack_as_pulumi_takes_it(
    stacks: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    stacks += [{"name": "prod", "current": True}, {"name": "dev", "current": False}]
    monkeypatch.setenv("PULUMI_STACK", "dev")
    assert stack.choose("", "nomad-stateful verify", acts=True) == "dev"


def test_every_question_to_pulumi_names_the_chosen_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(stack._Chosen, "name", "dev")

    def run(*words: str) -> dict[str, Any]:
        asked.append(words)
        return {}

    monkeypatch.setattr(stack, "_run", run)
    stack.outputs.__wrapped__()
    stack.aws_place.__wrapped__()
    assert len(asked) == 3
    assert all(words[-2:] == ("--stack", "dev") for words in asked)


def test_without_pulumi_the_message_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(stack.StackError, match="no pulumi on PATH: install it"):
        stack._run("stack", "ls")


@pytest.mark.parametrize(
    ("script", "mode", "said"),
    [("#!/bin/sh\n", 0o644, "on PATH does not start"), ("#!/bin/sh\necho s3cret\n", 0o755, "printed something other")],
)
def test_what_is_no_pulumi_is_an_error_without_what_it_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, mode: int, said: str
) -> None:
    (tmp_path / "pulumi").write_text(script, encoding="utf-8")
    (tmp_path / "pulumi").chmod(mode)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(stack.StackError, match=f"{said}.*Put Pulumi's own first on PATH") as refused:
        stack._run("stack", "ls")
    assert "s3cret" not in str(refused.value)


def test_a_placement_that_is_no_map_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "config", lambda: {"nomad-stateful:placement": "databases"})
    with pytest.raises(stack.StackError, match="nomad-stateful:placement is not a map"):
        stack.namespace()
