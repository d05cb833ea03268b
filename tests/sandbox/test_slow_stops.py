"""Consumers that take long to stop: every volume is unmounted before anybody asks EC2 to detach it."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from sandbox.cloud.daemon import CALL_LOG
from tools.trial.call_record import calls_of, detached_while_mounted
from tools.trial.running import Running

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]

STOP_S = (5, 8, 12)
SCRIPT = """
trap 'sleep {seconds}; date >>/data/log; exit 0' TERM INT
while :; do date >>/data/log; sleep 0.2; done
"""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running.prepare(tmp_path_factory.mktemp("project"))
    configure(running, dict(enumerate(STOP_S)))
    with running.up():
        yield running


def configure(running: Running, stop_s: dict[int, int]) -> None:
    """The sandbox stack with a slow consumer by each number."""
    path = running.project / "Pulumi.dev.yaml"
    whole = yaml.safe_load(path.read_text())
    config = whole["config"]
    config["nomad-stateful:volumes"] = [
        volume for volume in config["nomad-stateful:volumes"] if not volume["name"].startswith("slow-")
    ] + [{"name": f"slow-{number}", "zone": "us-west-2a", "sizeGib": 1, "protect": False} for number in stop_s]
    config["nomad-stateful:consumers"] = [consumer(number, seconds) for number, seconds in stop_s.items()]
    path.write_text(yaml.safe_dump(whole))


def consumer(number: int, seconds: int) -> dict[str, Any]:
    return {
        "name": f"slow-{number}",
        "mounts": [{"volume": f"slow-{number}", "path": "/data"}],
        "image": "busybox:1",
        "command": "/bin/sh",
        "args": ["local/run.sh"],
        "files": [{"destination": "local/run.sh", "perms": "0755", "text": SCRIPT.format(seconds=seconds)}],
        "killTimeout": "25s",
        "cpuMhz": 20,
        "memoryMib": 32,
        "timeoutS": 120,
    }


def mounted_when_detached(stack: Running) -> list[str]:
    """Detachments of volumes that were mounted, of all that EC2 was asked for so far."""
    recorded = calls_of(stack.project / ".sandbox/log" / CALL_LOG)
    assert any(call["action"] == "DetachVolume" for call in recorded), "no detachment is in the record"
    return detached_while_mounted(recorded)


def test_a_consumer_that_changes_with_its_plugin_is_unmounted_before_its_volume_goes(stack: Running) -> None:
    path = stack.project / "Pulumi.dev.yaml"
    whole = yaml.safe_load(path.read_text())
    whole["config"]["nomad-stateful:plugins"][0]["memoryMib"] = 272
    for one in whole["config"]["nomad-stateful:consumers"]:
        one["memoryMib"] = 40
    path.write_text(yaml.safe_dump(whole))
    done = stack.run("pulumi", "up", "--yes", "--skip-preview", "--non-interactive", timeout_s=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert mounted_when_detached(stack) == []


def test_a_consumer_that_is_removed_stops_before_its_volume_goes(stack: Running) -> None:
    configure(stack, {0: STOP_S[0], 1: STOP_S[1]})
    done = stack.run("pulumi", "up", "--yes", "--skip-preview", "--non-interactive")
    assert done.returncode == 0, done.stdout + done.stderr
    assert mounted_when_detached(stack) == []
    assert "slow-2" not in {job["ID"] for job in stack.nomad.get("jobs")}


def test_a_destroy_waits_for_slow_consumers_and_leaves_nothing(stack: Running) -> None:
    done = stack.run("pulumi", "destroy", "--yes", "--skip-preview", "--non-interactive")
    assert done.returncode == 0, done.stdout + done.stderr
    assert mounted_when_detached(stack) == []
    assert stack.nomad.get("jobs") == []
    assert stack.nomad.get("volumes", type="csi") == []
