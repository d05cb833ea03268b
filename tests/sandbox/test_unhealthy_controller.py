"""A controller that Nomad knows to be unhealthy: Nomad skips attaching and detaching, and the stack gets over it."""

import contextlib
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tools.trial.instances import inside, pid_inside
from tools.trial.running import Running, eventually

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]

JOB = "job/mysql-server"
CLIENTS = ("client-1", "client-2", "client-3")
# The fingerprint comes every 30 s, and waits 30 s for an answer.
FINGERPRINT_S = 120


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running.prepare(tmp_path_factory.mktemp("project"))
    with running.up():
        yield running


@contextlib.contextmanager
def frozen(stack: Running, number: int) -> Iterator[None]:
    """While so many of the two controllers do not answer, and Nomad knows it; afterwards both are healthy."""
    pids = {client: pid_inside(stack, client, "ebs_csi_driver controller") for client in CLIENTS}
    chosen = [(client, pid) for client, pid in pids.items() if pid][:number]
    assert len(chosen) == number, pids
    try:
        for client, pid in chosen:
            inside(stack, client, "kill", "-STOP", str(pid))
        await_healthy(stack, 2 - number)
        yield
    finally:
        for client, pid in chosen:
            inside(stack, client, "kill", "-CONT", str(pid))
    await_healthy(stack, 2)


def await_healthy(stack: Running, number: int) -> None:
    def probe() -> bool | None:
        return stack.nomad.get("plugin/csi/aws-ebs0")["ControllersHealthy"] == number or None

    eventually(probe, FINGERPRINT_S, f"{number} healthy controllers", stack.diagnosis)


def volume_id(stack: Running) -> str:
    return str(stack.nomad.get("volume/csi/mysql", namespace="default")["ExternalID"])


def attachments(stack: Running) -> list[str]:
    """Instances that EC2 has the data volume attached to."""
    found: list[dict[str, Any]] = stack.ec2.describe_volumes(VolumeIds=[volume_id(stack)])["Volumes"]
    return [item["InstanceId"] for item in found[0]["Attachments"]]


def leave_attached(stack: Running) -> str:
    """Stops MySQL while no controller is healthy: Nomad frees the claim and detaches nothing; the client it ran on."""
    at = stack.server_endpoint()
    with frozen(stack, 2):
        stack.nomad.delete(JOB, namespace="default")

        def probe() -> bool | None:
            volume = stack.nomad.get("volume/csi/mysql", namespace="default")
            return not (volume.get("WriteAllocs") or volume.get("Allocations")) or None

        eventually(probe, 240, "the claim is freed", stack.diagnosis)
    assert len(attachments(stack)) == 1, "Nomad detaches it now: docs/decisions/2026-11-22-unhealthy-controllers.md"
    return at.node_id


def test_a_change_waits_until_every_controller_is_healthy(stack: Running) -> None:
    before = stack.nomad.get(JOB, namespace="default")["Version"]
    config = ("config", "set", "--path", "nomad-stateful:mysql.config.max_connections", "120")
    assert stack.run("pulumi", *config).returncode == 0
    with frozen(stack, 1):
        command = ["pulumi", "up", "--yes", "--skip-preview", "--non-interactive"]
        engine = subprocess.Popen(
            command, cwd=stack.project, env=stack.env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        assert engine.stdout is not None
        said = ""
        for line in engine.stdout:
            said += line
            if "waiting until Nomad attaches and detaches volumes: a controller of CSI plugin aws-ebs0" in line:
                break
        assert engine.poll() is None, said
        assert stack.nomad.get(JOB, namespace="default")["Version"] == before, "the job was changed all the same"
    said += engine.communicate(timeout=300)[0]
    assert engine.returncode == 0, said
    assert stack.nomad.get(JOB, namespace="default")["Version"] == before + 1
    assert stack.sql(stack.server_endpoint(), "SELECT @@max_connections") == [(120,)]


def test_what_nomad_left_attached_is_named_and_the_next_up_gets_over_it(stack: Running) -> None:
    node_id = leave_attached(stack)
    stack.nomad.put(f"node/{node_id}/eligibility", {"Eligibility": "ineligible"})
    told = stack.run(stack.python, "-m", "nomad_stateful.operate", "status").stdout
    assert f"{volume_id(stack)} is attached to {attachments(stack)[0]} as /dev/" in told
    assert "where nothing claims it" in told
    explained = stack.run(stack.python, "-m", "nomad_stateful.operate", "explain", "mysql")
    assert explained.returncode == 1
    assert "where nothing claims it" in explained.stdout
    explained = stack.run(stack.python, "-m", "nomad_stateful.operate", "explain", "mysql-server")
    assert "job mysql-server is stopped" in explained.stdout
    try:
        done = stack.run("pulumi", "up", "--yes", "--refresh", "--skip-preview", "--non-interactive", timeout_s=400)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Detaching it: client" in done.stdout + done.stderr
        assert stack.server_endpoint().node_id != node_id
    finally:
        stack.nomad.put(f"node/{node_id}/eligibility", {"Eligibility": "eligible"})


def test_recover_detaches_it_too(stack: Running) -> None:
    leave_attached(stack)
    done = stack.run(stack.python, "-m", "nomad_stateful.operate", "recover", "mysql", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    eventually(lambda: not attachments(stack) or None, 240, "EC2 has the volume detached")


def test_a_destroy_detaches_it_and_leaves_nothing(stack: Running) -> None:
    done = stack.run("pulumi", "up", "--yes", "--refresh", "--skip-preview", "--non-interactive", timeout_s=400)
    assert done.returncode == 0, done.stdout + done.stderr
    leave_attached(stack)
    done = stack.run("pulumi", "destroy", "--yes", "--skip-preview", "--non-interactive", timeout_s=400)
    assert done.returncode == 0, done.stdout + done.stderr
    assert stack.nomad.get("volumes", type="csi") == []
