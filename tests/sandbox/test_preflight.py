"""What a preview on the real engine and a real Nomad says of jobs without a client, and by the policies."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.sandbox.whole_stack import take_exec_from_clients
from tools.trial.running import Running

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad]

PREVIEW = ("pulumi", "preview", "--stack", "dev", "--non-interactive")
POLICIES = ("--policy-pack", "policy")
IN_CLEAR = {"name": "scratch", "zone": "us-west-2a", "sizeGib": 1, "encrypted": False, "protect": False}
Config = dict[str, Any]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running.prepare(tmp_path_factory.mktemp("project"))
    take_exec_from_clients(running)
    with running.up():
        yield running


def previewed(stack: Running, change: Callable[[Config], object], *words: str) -> tuple[int, str]:
    """Previews the stack's file with a change."""
    file = stack.project / "Pulumi.dev.yaml"
    before = file.read_text()
    content = yaml.safe_load(before)
    change(content["config"])
    file.write_text(yaml.safe_dump(content))
    try:
        done = stack.run(*PREVIEW, *words)
    finally:
        file.write_text(before)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


@pytest.fixture(scope="module")
def two_refused(stack: Running) -> tuple[int, str]:
    """A preview of a controller too many, and of a consumer under a task driver that is not there."""

    def change(config: Config) -> None:
        config["nomad-stateful:plugins"][0].update(controllers=4)
        add_a_consumer(config)
        config["nomad-stateful:consumers"][0].update(taskDriver="exec", image=None)

    return previewed(stack, change)


def test_a_node_pool_that_nobody_made_is_named_once(stack: Running) -> None:
    code, said = previewed(stack, lambda config: config.update({"nomad-stateful:placement": {"nodePool": "gpu"}}))
    assert code != 0, said
    assert "1 setting refused; nothing was created" in said
    assert "placement.nodePool is gpu: no Nomad client is in this node pool (clients are in: default)" in said


def test_one_controller_more_than_there_are_clients_is_refused(two_refused: tuple[int, str]) -> None:
    code, said = two_refused
    assert code != 0, said
    assert "2 settings refused; nothing was created" in said
    assert "plugins.aws-ebs0.controllers is 4: no client can run 1 of its 4 instances" in said
    assert "3 ready clients in node pool default: 3 that have another of its instances (distinct_hosts)" in said


def test_a_task_driver_that_the_volumes_zone_does_not_have_is_refused(two_refused: tuple[int, str]) -> None:
    code, said = two_refused
    assert code != 0, said
    assert "consumers.web.count is 1: no client in us-west-2b can run it" in said
    assert "without a healthy task driver exec" in said


def test_more_memory_than_any_client_has_is_refused(stack: Running) -> None:
    code, said = previewed(stack, lambda config: config["nomad-stateful:mysql"].update(memoryMib=640000))
    assert code != 0, said
    assert "mysql.memoryMib is 640000: the largest client in us-west-2a has " in said


def test_a_stack_without_mysql_is_told_of_a_namespace_that_its_token_may_not_use(stack: Running) -> None:
    def change(config: Config) -> None:
        del config["nomad-stateful:mysql"]
        config["nomad-stateful:placement"] = {"namespace": "nope"}

    code, said = previewed(stack, change)
    assert code != 0, said
    assert (
        "placement.namespace is nope: Unexpected response code: 403 (Permission denied): the token's policy needs"
        in said
    )


def add_a_consumer(content: Config) -> None:
    mounts = [{"volume": "archive", "path": "/data"}]
    web = {"name": "web", "image": "busybox:1", "command": "/bin/sleep", "args": ["9"], "mounts": mounts}
    content["nomad-stateful:consumers"] = [web]


def test_jobs_whose_only_client_takes_no_more_are_warned_of_and_go_on(stack: Running) -> None:
    ids = {node["Name"]: node["ID"] for node in stack.nomad.get("nodes")}
    path = f"node/{ids['client-3']}/eligibility"
    stack.nomad.put(path, {"Eligibility": "ineligible"})
    try:
        code, said = previewed(stack, lambda _config: None)
        assert code == 0, said
        assert "plugins.aws-ebs0.id is aws-ebs0: just now no client in us-west-2b can run it" in said
        assert "client-3 is ineligible" in said
        assert re.search(r"Resources: \d+ unchanged( Duration|$)", said), said
        code, said = previewed(stack, add_a_consumer)
        assert code != 0, said
        assert "consumers.web.count is 1: no client in us-west-2b can run it (job web)" in said
        assert "Bring client-3 back" in said
    finally:
        stack.nomad.put(path, {"Eligibility": "eligible"})
    code, said = previewed(stack, add_a_consumer)
    assert code == 0, said


def test_the_sandboxes_stack_keeps_every_rule(stack: Running) -> None:
    code, said = previewed(stack, lambda _config: None, *POLICIES)
    assert code == 0, said
    assert "✅ nomad-stateful@v0.3.0" in said
    assert "[advisory]" not in said


def add_a_volume_in_clear(content: Config) -> None:
    content["nomad-stateful:volumes"].append(IN_CLEAR)


def test_a_volume_that_is_not_encrypted_is_refused_with_rule_volume_and_remedy(stack: Running) -> None:
    code, said = previewed(stack, add_a_volume_in_clear, *POLICIES)
    assert code != 0, said
    assert "[mandatory] encryption-at-rest (aws:ebs/volume:Volume: ebs-scratch-us-west-2a)" in said
    assert "Remedy: set `encrypted: true`" in said
    assert "ebs-scratch-us-west-2a: encrypted is false" in said


def test_a_rule_made_advisory_by_configuration_only_warns(stack: Running, tmp_path: Path) -> None:
    config = tmp_path / "policies.json"
    config.write_text(json.dumps({"encryption-at-rest": "advisory"}))
    code, said = previewed(stack, add_a_volume_in_clear, *POLICIES, "--policy-pack-config", str(config))
    assert code == 0, said
    assert "[advisory] encryption-at-rest" in said


def test_settings_of_a_rule_reach_it(stack: Running, tmp_path: Path) -> None:
    config = tmp_path / "policies.json"
    config.write_text(json.dumps({"mandatory-tags": {"tags": ["owner"]}, "volume-protection": {"sandboxStacks": []}}))
    code, said = previewed(stack, lambda _config: None, *POLICIES, "--policy-pack-config", str(config))
    assert code != 0, said
    assert 'ebs-mysql-us-west-2a: tags["owner"] is not set' in said
    assert "ebs-mysql-us-west-2a: protect is false in stack dev" in said
