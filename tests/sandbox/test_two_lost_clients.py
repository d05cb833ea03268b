"""Two clients of one job that are lost, the first still writing: the watch waits for both, and EC2 for the first.

Nomad itself places both again once it calls the second one down: docs/failover.md.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.trial.instances import instance_of, pid_inside
from tools.trial.running import Running, eventually

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]

INSTANCE = '\n[[instances]]\nname = "client-{number}"\nzone = "us-west-2a"\n'
WRITER = "sleep 86399"
PAIR = {
    "name": "pair",
    "count": 2,
    "mounts": [{"volume": "pair", "path": "/data", "perAlloc": True}],
    "constraints": [{"operator": "distinct_hosts", "value": "true"}],
    "image": "busybox:1",
    "command": "/bin/sleep",
    "args": ["86399"],
    "killSignal": "SIGKILL",
    "killTimeout": "5s",
    # Long enough for a watch that asks about one of the two to place both while the other still writes.
    "stopAfterDisconnect": "40s",
    "cpuMhz": 20,
    "memoryMib": 32,
}
VOLUMES = {"name": "pair", "count": 2, "zones": ["us-west-2a"], "sizeGib": 1, "protect": False}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running.prepare(tmp_path_factory.mktemp("project"))
    with (running.project / "sandbox.toml").open("a") as file:
        file.writelines(INSTANCE.format(number=number) for number in range(1, 5))
    path = running.project / "Pulumi.dev.yaml"
    whole = yaml.safe_load(path.read_text())
    config = whole["config"]
    config["nomad-stateful:volumes"] = [one for one in config["nomad-stateful:volumes"] if one["name"] == "mysql"]
    config["nomad-stateful:volumes"].append(VOLUMES)
    config["nomad-stateful:consumers"] = [PAIR]
    path.write_text(yaml.safe_dump(whole))
    with running.up():
        yield running


@contextmanager
def watch(stack: Running, log: Path) -> Iterator[None]:
    """While `nomad-stateful failover` runs."""
    with log.open("w") as file:
        words = [stack.python, "-m", "nomad_stateful.operate", "failover"]
        process = subprocess.Popen(words, cwd=stack.project, env=stack.env, stdout=file)
    try:
        yield
        assert process.poll() is None
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


def placed(stack: Running) -> dict[str, dict[str, Any]]:
    """Allocations of the job that are to run, by name; the newest of each."""
    stubs = sorted(stack.nomad.get("job/pair/allocations"), key=lambda stub: int(stub["CreateIndex"]))
    return {stub["Name"]: stub for stub in stubs if stub["DesiredStatus"] == "run"}


def down(stack: Running, client: str) -> bool | None:
    return any(node["Name"] == client and node["Status"] == "down" for node in stack.nomad.get("nodes")) or None


def test_what_still_writes_keeps_its_volume_and_the_watch_waits_for_it(stack: Running, tmp_path: Path) -> None:
    before, log = placed(stack), tmp_path / "watch.log"
    (name_of_cut, cut), (_, stopped) = ((name, stub["NodeName"]) for name, stub in before.items())
    assert stopped != cut
    volume = stack.outputs()["volumes"][name_of_cut.replace("pair.container", "pair")]["id"]
    with watch(stack, log):
        stack.ctl("cut", cut)
        eventually(lambda: down(stack, cut), 60, f"{cut} is down")
        stack.ec2.stop_instances(InstanceIds=[instance_of(stack, stopped)], Force=True)
        eventually(lambda: down(stack, stopped), 60, f"{stopped} is down")
        assert pid_inside(stack, cut, WRITER), f"{cut} had stopped its task before both were lost"
        eventually(lambda: "pair waits" in log.read_text() or None, 60, "the watch waits", log.read_text)

        def has_ended() -> bool | None:
            """Looked at after EC2 and Nomad: what writes now wrote then."""
            held, another = attached_to(stack, volume), placed(stack).get(name_of_cut)
            if not pid_inside(stack, cut, WRITER):
                return True
            assert held == [instance_of(stack, cut)]
            if another and another["ID"] != before[name_of_cut]["ID"]:
                # That is Nomad's own doing: what the watch has evaluated counts as registered.
                evaluation = stack.nomad.get(f"evaluation/{another['EvalID']}")
                assert evaluation["TriggeredBy"] != "job-register", log.read_text()
            return None

        eventually(has_ended, 120, f"{cut} has ended its task", log.read_text)


def attached_to(stack: Running, volume: str) -> list[str]:
    """The instances that EC2 has a volume attached to."""
    [found] = stack.ec2.describe_volumes(VolumeIds=[volume])["Volumes"]
    return [one["InstanceId"] for one in found["Attachments"]]
