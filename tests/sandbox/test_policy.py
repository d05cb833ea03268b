"""The policy pack on the real engine, against the sandbox's stack."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.trial.running import Running

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad]

IN_CLEAR = {"name": "scratch", "zone": "us-west-2a", "sizeGib": 1, "encrypted": False, "protect": False}
PREVIEW = ("pulumi", "preview", "--stack", "dev", "--non-interactive", "--policy-pack", "policy")


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running.prepare(tmp_path_factory.mktemp("project"))
    with running.up():
        yield running


@pytest.fixture
def with_volume_in_clear(stack: Running) -> Iterator[Running]:
    """The stack's file asks for one more volume, which is not encrypted."""
    file = stack.project / "Pulumi.dev.yaml"
    before = file.read_text()
    content = yaml.safe_load(before)
    content["config"]["nomad-stateful:volumes"].append(IN_CLEAR)
    file.write_text(yaml.safe_dump(content))
    yield stack
    file.write_text(before)


def said(preview: Any) -> str:
    return " ".join((preview.stdout + preview.stderr).split())


def test_the_sandboxes_stack_keeps_every_rule(stack: Running) -> None:
    preview = stack.run(*PREVIEW)
    assert preview.returncode == 0, said(preview)
    assert "✅ nomad-stateful@v0.1.0" in preview.stdout
    assert "[advisory]" not in preview.stdout


def test_a_volume_that_is_not_encrypted_is_refused_with_rule_volume_and_remedy(with_volume_in_clear: Running) -> None:
    preview = with_volume_in_clear.run(*PREVIEW)
    assert preview.returncode != 0, said(preview)
    assert "[mandatory] encryption-at-rest (aws:ebs/volume:Volume: ebs-scratch-us-west-2a)" in said(preview)
    assert "Remedy: set `encrypted: true`" in said(preview)
    assert "ebs-scratch-us-west-2a: encrypted is false" in said(preview)


def test_a_rule_made_advisory_by_configuration_only_warns(with_volume_in_clear: Running, tmp_path: Path) -> None:
    config = tmp_path / "policies.json"
    config.write_text(json.dumps({"encryption-at-rest": "advisory"}))
    preview = with_volume_in_clear.run(*PREVIEW, "--policy-pack-config", str(config))
    assert preview.returncode == 0, said(preview)
    assert "[advisory] encryption-at-rest" in said(preview)


def test_settings_of_a_rule_reach_it(stack: Running, tmp_path: Path) -> None:
    config = tmp_path / "policies.json"
    config.write_text(json.dumps({"mandatory-tags": {"tags": ["owner"]}, "volume-protection": {"sandboxStacks": []}}))
    preview = stack.run(*PREVIEW, "--policy-pack-config", str(config))
    assert preview.returncode != 0, said(preview)
    assert 'ebs-mysql-us-west-2a: tags["owner"] is not set' in said(preview)
    assert "ebs-mysql-us-west-2a: protect is false in stack dev" in said(preview)
