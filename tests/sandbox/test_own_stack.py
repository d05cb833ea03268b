"""The sandbox without its stack, for stacks of one's own, as sandbox/README.md describes it."""

import re
from collections.abc import Iterator

import pytest
import yaml

from tools.trial.running import Running

pytestmark = [pytest.mark.sandbox, pytest.mark.nomad]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A sandbox that nothing was deployed in, with two stacks' settings in the project."""
    running = Running.prepare(tmp_path_factory.mktemp("own"))
    known = yaml.safe_load((running.project / "Pulumi.dev.yaml").read_text(encoding="utf-8"))
    known.pop("encryptionsalt", None)
    known["config"].pop("nomad-stateful:mysql")
    known["config"]["nomad-stateful:volumes"][1:] = []
    for name in ("mine", "second"):
        known["config"]["nomad-stateful:volumes"][0]["name"] = f"{name}-data"
        known["config"]["nomad-stateful:plugins"][0]["id"] = f"{name}-ebs"
        (running.project / f"Pulumi.{name}.yaml").write_text(yaml.safe_dump(known), encoding="utf-8")
    with running.up("--no-stack", "--plugins", "embedded"):
        yield running


def pulumi(running: Running, *words: str) -> str:
    done = running.run("pulumi", *words, "--non-interactive")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_stack_of_ones_own_is_made_and_deployed(alone: Running) -> None:
    pulumi(alone, "stack", "init", "mine")
    said = pulumi(alone, "up", "--yes", "--skip-preview")
    assert "mine-data" in said
    pulumi(alone, "preview", "--expect-no-changes")


def test_a_second_stack_is_previewed_beside_it(alone: Running) -> None:
    pulumi(alone, "stack", "init", "second")
    said = pulumi(alone, "preview", "--stack", "second")
    assert re.search(r"\+ \d+ to create", said)
    pulumi(alone, "preview", "--stack", "mine", "--expect-no-changes")


def test_down_destroys_nothing_while_stacks_hold_something_that_it_does_not_know(alone: Running) -> None:
    done = alone.sandbox("down")
    assert done.returncode == 1
    assert re.search(
        r"more stacks, which would go with it: mine \(\d+ resources\)\. Nothing was destroyed", done.stderr
    )
    pulumi(alone, "preview", "--stack", "mine", "--expect-no-changes", "--refresh")


def test_once_they_are_destroyed_down_takes_the_rest(alone: Running) -> None:
    pulumi(alone, "destroy", "--yes", "--skip-preview", "--stack", "mine")
    done = alone.sandbox("down")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (
        "these stacks go with the sandbox's state: nomad-stateful/mine, nomad-stateful/second"
        in done.stdout + done.stderr
    )
    assert not (alone.project / ".sandbox").exists()
    # Their secrets' key is gone, and would keep the same name from being used again.
    for name in ("mine", "second"):
        assert "encryptionsalt" not in (alone.project / f"Pulumi.{name}.yaml").read_text(encoding="utf-8")
