"""Rows outlive what happens to a running stack: a purge, a drain, a killed server or agent, a dead instance."""

import re
from collections.abc import Iterator

import pytest

from tests.iam import evaluator, record
from tests.sandbox.whole_stack import numbers, whole_stack, write
from tools.trial.instances import (
    AGENT,
    SERVER,
    instance_of,
    kill_inside,
    node_plugins,
    pid_inside,
    plugin_reports,
    reported_since,
)
from tools.trial.running import Running, eventually

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    soon = {"mysql.killTimeout": "5s"}
    with whole_stack(tmp_path_factory.mktemp("project"), changes=soon) as running:
        yield running


def test_verify_proves_that_rows_outlive_a_purge_and_a_drain(stack: Running) -> None:
    command = (stack.python, "-m", "nomad_stateful.operate")
    verify = stack.run(*command, "verify", timeout_s=600)
    why = "" if verify.returncode == 0 else stack.run(*command, "explain", "mysql-server").stdout
    assert verify.returncode == 0, verify.stdout + verify.stderr + why
    proof = re.findall(r"^(?:first|after).*?([0-9a-f-]{36}) +(client-\d)", verify.stdout, re.MULTILINE)
    assert len({allocation for allocation, _ in proof}) == 3
    assert proof[1][1] != proof[2][1]


def test_mysql_killed_comes_back_with_its_rows(stack: Running) -> None:
    at = stack.server_endpoint()
    write(stack, at, 1)
    before = pid_inside(stack, at.node_name, SERVER)
    assert before
    kill_inside(stack, at.node_name, before)
    eventually(lambda: pid_inside(stack, at.node_name, SERVER) not in (0, before) or None, 240, "a new server process")
    assert 1 in numbers(stack, stack.server_endpoint())


def test_a_killed_client_agent_comes_back_and_mysql_never_stopped(stack: Running) -> None:
    at = stack.server_endpoint()
    write(stack, at, 2)
    server, agent = (pid_inside(stack, at.node_name, pattern) for pattern in (SERVER, AGENT))
    assert agent
    before = plugin_reports(stack, at.node_id)
    assert "Nodes" in before
    kill_inside(stack, at.node_name, agent)
    eventually(lambda: pid_inside(stack, at.node_name, AGENT) not in (0, agent) or None, 240, "a new agent")
    again = "the client's plugins reported by the new agent"
    eventually(lambda: reported_since(plugin_reports(stack, at.node_id), before) or None, 120, again)
    eventually(lambda: node_plugins(stack) == 3 or None, 120, "the client and its node plugin ready again")
    assert 2 in numbers(stack, stack.server_endpoint())
    assert pid_inside(stack, at.node_name, SERVER) == server


def test_mysql_moves_to_the_zones_other_client_when_its_instance_dies(stack: Running) -> None:
    at = stack.server_endpoint()
    write(stack, at, 3)
    instance = instance_of(stack, at.node_name)
    stack.ec2.stop_instances(InstanceIds=[instance], Force=True)
    moved = stack.server_endpoint(not_allocation=at.allocation_id, timeout_s=240)
    assert moved.node_name != at.node_name
    assert {1, 2, 3} <= set(numbers(stack, moved))
    stack.ec2.start_instances(InstanceIds=[instance])
    eventually(lambda: node_plugins(stack) == 3 or None, 120, "the client and its node plugin ready again")


@pytest.mark.skipif(bool(evaluator.missing()), reason=f"missing here: {evaluator.missing()}")
def test_all_that_the_driver_called_is_allowed_by_the_policy_that_is_attached(stack: Running) -> None:
    calls = record.calls(stack.project / ".sandbox/log/ec2-calls.jsonl", "nomad-client")
    asked = record.requests(calls)
    assert "ec2:AttachVolume" in {request.action for request in asked}
    (policy,) = stack.attached_policies("nomad-client")
    verdicts = evaluator.judge([policy], asked)[0]
    assert [request for request, allowed in zip(asked, verdicts, strict=True) if not allowed] == []
