"""`down`: with the sandbox, without the stack, or the stack alone."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from sandbox.__main__ import main
from sandbox.cloud import service as cloud
from sandbox.commands import down, leftovers
from sandbox.settings import SandboxSettings, load_settings
from sandbox.stack.environment import state_dir


@pytest.fixture
def settings(tmp_path: Path) -> SandboxSettings:
    return replace(load_settings({}), home=tmp_path)


@pytest.fixture
def did(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What `down` did to a sandbox that runs, in order."""
    done: list[str] = []

    def note(what: str, result: object = None) -> Callable[..., object]:
        def act(*_: object, **__: object) -> object:
            done.append(what)
            return result

        return act

    monkeypatch.setattr(cloud, "is_alive", lambda _settings: True)
    monkeypatch.setattr(down, "_destroy", note("destroy"))
    monkeypatch.setattr(down, "_look", note("look"))
    monkeypatch.setattr(down, "_forget_salt", note("forget"))
    monkeypatch.setattr(leftovers, "clear", note("clear", []))
    return done


def test_the_stack_alone_is_destroyed_and_the_sandbox_runs_on(settings: SandboxSettings, did: list[str]) -> None:
    assert down.run(settings, down.Options("dev", keep_sandbox=True)) == 0
    assert did == ["destroy", "look"]


def test_the_sandbox_goes_after_its_stack(settings: SandboxSettings, did: list[str]) -> None:
    assert down.run(settings, down.Options("dev")) == 0
    assert did == ["destroy", "look", "clear", "forget"]


def test_by_force_the_sandbox_goes_with_its_stack(settings: SandboxSettings, did: list[str]) -> None:
    assert down.run(settings, down.Options("dev", force=True)) == 0
    assert did == ["clear", "forget"]


def test_what_else_goes_with_the_state_is_said(
    settings: SandboxSettings, did: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = state_dir(settings) / ".pulumi" / "stacks" / "other"
    folder.mkdir(parents=True)
    for name in ("mine.json", "mine.json.bak", "gone.json.bak"):
        (folder / name).write_text("{}")
    assert down.run(settings, down.Options("dev", force=True)) == 0
    assert "these stacks go with the sandbox's state: other/mine\n" in "".join(capsys.readouterr())


def test_nobody_can_ask_for_both(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["down", "--force", "--keep-sandbox"])
    assert "not allowed with" in capsys.readouterr().err


def test_a_refusal_of_the_cloud_is_told_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: object) -> int:
        raise ClientError({"Error": {"Code": "RequestLimitExceeded", "Message": "slow down"}}, "DescribeInstances")

    monkeypatch.setattr(down, "run", refused)
    assert main(["down", "--force"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: the cloud did not do what it was asked: ")
    assert "RequestLimitExceeded" in said


def test_an_error_of_our_own_is_not_taken_for_the_clouds(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(down, "run", broken)
    with pytest.raises(ZeroDivisionError):
        main(["down", "--force"])
