"""What a preview on the real engine and a real Nomad says of jobs for which there is no client."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from tools.trial.running import Running

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad]

PREVIEW = ("pulumi", "preview", "--stack", "dev", "--non-interactive")
Config = dict[str, Any]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running.prepare(tmp_path_factory.mktemp("project"))
    with running.up():
        yield running


def previewed(stack: Running, change: Callable[[Config], object]) -> tuple[int, str]:
    """Previews the stack's file with a change."""
    file = stack.project / "Pulumi.dev.yaml"
    before = file.read_text()
    content = yaml.safe_load(before)
    change(content["config"])
    file.write_text(yaml.safe_dump(content))
    try:
        done = stack.run(*PREVIEW)
    finally:
        file.write_text(before)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


@pytest.fixture(scope="module")
def two_refused(stack: Running) -> tuple[int, str]:
    """A preview of a controller too many, and of MySQL under a task driver that is not there."""

    def change(config: Config) -> None:
        config["nomad-stateful:plugins"][0].update(controllers=4)
        config["nomad-stateful:mysql"].update(taskDriver="docker", image="mysql:9.7.4")

    return previewed(stack, change)


def test_a_node_pool_that_nobody_made_is_named_once(stack: Running) -> None:
    code, said = previewed(stack, lambda config: config["nomad-stateful:placement"].update(nodePool="gpu"))
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
    assert "mysql.jobId is mysql-server: no client in us-west-2a can run it" in said
    assert "without a healthy task driver docker" in said


def test_more_memory_than_any_client_has_is_refused(stack: Running) -> None:
    code, said = previewed(stack, lambda config: config["nomad-stateful:mysql"].update(memoryMib=640000))
    assert code != 0, said
    assert "mysql.memoryMib is 640000: the largest client in us-west-2a has " in said


def test_a_stack_without_mysql_is_told_of_a_namespace_that_its_token_may_not_use(stack: Running) -> None:
    def change(config: Config) -> None:
        del config["nomad-stateful:mysql"]
        config["nomad-stateful:placement"]["namespace"] = "nope"

    code, said = previewed(stack, change)
    assert code != 0, said
    assert (
        "placement.namespace is nope: Unexpected response code: 403 (Permission denied): the token's policy needs"
        in said
    )


def add_a_consumer(content: Config) -> None:
    mounts = [{"volume": "archive", "path": "/data"}]
    web = {"name": "web", "taskDriver": "exec", "command": "/bin/sleep", "args": ["9"], "mounts": mounts}
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
