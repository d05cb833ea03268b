"""The sandbox without a stack: instances, a Nomad cluster on them, and tokens that can do no more than they need."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from nomad_stateful.databases.model import Login
from nomad_stateful.nomad.api import NomadApi, NomadApiError
from sandbox.cloud.ctl import kill
from sandbox.cluster import acl, nodes, server
from sandbox.machine import control_groups, processes
from sandbox.settings import CONFIG_VARIABLE, HOME_VARIABLE, PROJECT, SandboxSettings, load_settings
from tests.sandbox.local_cloud import until
from tools.trial.ground import claim

pytestmark = [pytest.mark.sandbox, pytest.mark.nomad]

PAIRS = 30
ONE_INSTANCE = '[[instances]]\nname = "client-1"\nzone = "us-west-2a"\n'

JOB = """
job "hello" {
  type = "batch"

  group "hello" {
    task "hello" {
      driver = "exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "id -u; echo $(ls /); echo $AWS_REGION; sleep 60"]
      }

      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
"""

# Of the services on all clients the one that a login by the database's client would take.
EVERYWHERE = """
job "everywhere" {
  type = "system"

  group "one" {
    network {
      port "own" {}
    }

    task "one" {
      driver = "exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "sleep 120"]
      }

      template {
        destination = "local/at"
        change_mode = "noop"
        data        = <<END
%s
END
      }

      service {
        name     = "everywhere"
        port     = "own"
        provider = "nomad"
      }

      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
"""


def sandbox(settings: SandboxSettings, *words: str) -> subprocess.CompletedProcess[str]:
    config = settings.home.parent / "sandbox.toml"
    env = {**os.environ, HOME_VARIABLE: str(settings.home), CONFIG_VARIABLE: str(config)}
    argv = [sys.executable, "-m", "sandbox", *words]
    return subprocess.run(argv, cwd=PROJECT, env=env, capture_output=True, text=True, check=False, timeout=600)


def up(settings: SandboxSettings) -> str:
    done = sandbox(settings, "up", "--no-stack", "--plugins", "embedded")
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def down(settings: SandboxSettings) -> None:
    done = sandbox(settings, "down", "--force")
    assert done.returncode == 0, done.stderr
    assert not settings.home.exists()
    assert not Path(f"/sys/class/net/{settings.bridge}").exists()
    groups = control_groups.of_sandbox(settings)
    assert not [*Path("/sys/fs/cgroup").glob(groups), *Path("/sys/fs/cgroup").glob(f"*/{groups}")]


def place(folder: Path, instances: str = "") -> SandboxSettings:
    """Settings of a sandbox in a folder of its own, with their file."""
    folder.mkdir(exist_ok=True)
    config = folder / "sandbox.toml"
    config.write_text(claim().config + instances)
    return load_settings({HOME_VARIABLE: str(folder / ".sandbox"), CONFIG_VARIABLE: str(config)})


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxSettings]:
    settings = place(tmp_path_factory.mktemp("cluster"))
    try:
        up(settings)
        yield settings
    finally:
        down(settings)


OPEN: list[NomadApi] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while OPEN:
        OPEN.pop().close()


def api(settings: SandboxSettings, name: str) -> NomadApi:
    """The API with one of the sandbox's tokens, or with none."""
    OPEN.append(NomadApi(settings.nomad_url, getattr(acl.read_tokens(settings), name) if name else ""))
    return OPEN[-1]


def submit(token: NomadApi, text: str = JOB) -> None:
    job = token.put("jobs/parse", {"JobHCL": text, "Canonicalize": True})
    token.put("jobs", {"Job": job})


def running_allocation(token: NomadApi) -> str:
    """Id of the job's allocation once it runs; fails with what its task says where it cannot."""
    index = 0
    while True:
        allocations, index = token.get_indexed("job/hello/allocations", index=index, wait_s=10)
        for item in allocations or []:
            if item["ClientStatus"] == "running":
                return str(item["ID"])
            assert item["ClientStatus"] != "failed", said_of(token.get(f"allocation/{item['ID']}"))


def said_of(allocation: dict[str, Any]) -> list[str]:
    """What the client and the tasks of an allocation say of it."""
    events = [event for state in (allocation["TaskStates"] or {}).values() for event in state["Events"]]
    return [allocation["ClientDescription"], *(event["DisplayMessage"] for event in events)]


def refused(token: NomadApi, path: str, body: object = None) -> bool:
    with pytest.raises(NomadApiError) as caught:
        token.get(path) if body is None else token.put(path, body)
    return caught.value.status == 403


def test_every_instance_is_a_ready_client_that_knows_its_zone_from_its_metadata(running: SandboxSettings) -> None:
    known = nodes.clients(api(running, "management"))
    assert [(item.name, item.zone) for item in known] == [(spec.name, spec.zone) for spec in running.instances]
    for item in known:
        assert nodes.is_ready(item)
        assert item.healthy_drivers == ["docker", "exec"]
        assert item.instance_id.startswith("i-")
    assert len({item.instance_id for item in known}) == len(running.instances)


def test_a_second_up_keeps_every_process_and_says_that_nothing_changed(running: SandboxSettings) -> None:
    before = {path.name: path.read_text() for path in running.run_dir.glob("*.json")}
    assert "Nothing changed" in up(running)
    assert {path.name: path.read_text() for path in running.run_dir.glob("*.json")} == before


def test_the_programs_token_reads_what_it_needs_and_nothing_of_the_operators(running: SandboxSettings) -> None:
    program = api(running, "program")
    assert len(program.get("nodes")) == len(running.instances)
    assert program.get("plugins", type="csi") == []
    assert program.get("jobs") == []
    node = program.get("nodes")[0]["ID"]
    assert refused(program, f"node/{node}/drain", {"DrainSpec": None})
    assert refused(program, "acl/tokens")
    assert refused(program, "operator/raft/configuration")
    assert refused(program, "var/elsewhere", {"Path": "elsewhere", "Items": {"a": "b"}})


def test_the_operators_token_may_drain_but_not_manage_access(running: SandboxSettings) -> None:
    operator = api(running, "operator")
    node = operator.get("nodes")[0]["ID"]
    operator.put(f"node/{node}/drain", {"DrainSpec": None, "MarkEligible": True})
    assert refused(operator, "acl/tokens")


def test_a_stranger_without_a_token_sees_nothing(running: SandboxSettings) -> None:
    assert refused(api(running, ""), "jobs")


def test_a_task_that_is_no_container_has_busybox_alone_and_knows_its_region(running: SandboxSettings) -> None:
    program = api(running, "program")
    submit(program)
    allocation = running_allocation(program)
    (log,) = running.instance_dir.glob(f"*/disk/nomad/alloc/{allocation}/alloc/logs/hello.stdout.0")
    try:
        uid, root, region = _lines(log, 3)
        assert (uid, region) == ("65534", running.region)
        assert {"bin", "local", "secrets"} <= set(root.split())
        assert not {"home", "lib", "opt", "root", "usr", "var"} & set(root.split())
    finally:
        program.delete("job/hello", purge=True)


def test_of_a_service_on_every_client_a_login_takes_that_of_its_own_client(running: SandboxSettings) -> None:
    program = api(running, "program")
    login = Login("everywhere", "nomad", "off", verifies=False, account="a", password="", on_every_client=True)
    submit(program, EVERYWHERE % login.at("{{ .Address }}"))
    addresses = {spec.name: str(running.instance_address(spec)) for spec in running.instances}
    own = {item.instance_id: addresses[item.name] for item in nodes.clients(api(running, "management"))}

    def taken() -> dict[str, str]:
        files = running.instance_dir.glob("*/disk/nomad/alloc/*/one/local/at")
        return {file.relative_to(running.instance_dir).parts[0]: file.read_text().strip() for file in files}

    try:
        until(lambda: taken() == own, 60)
    finally:
        program.delete("job/everywhere", purge=True)


def _lines(log: Path, number: int) -> list[str]:
    process = subprocess.run(
        ["timeout", "10", "sh", "-c", f'until [ "$(wc -l <"$0")" -ge {number} ]; do sleep 0.05; done', str(log)],
        check=False,
    )
    assert process.returncode == 0, log.read_text()
    return log.read_text().splitlines()


def test_a_dead_server_and_a_dead_instance_are_brought_back(running: SandboxSettings) -> None:
    before = {item.name: item.id for item in nodes.clients(api(running, "management"))}
    assert processes.stop(server.pid_file(running, server.leader(running)))
    kill(running, "client-3")
    assert "Nothing changed" not in up(running)
    assert {item.name: item.id for item in nodes.clients(api(running, "management"))} == before


def test_a_dead_cloud_takes_everything_along_and_up_says_so_and_starts_fresh(running: SandboxSettings) -> None:
    before = {item.name: item.instance_id for item in nodes.clients(api(running, "management"))}
    daemon = processes.read_record(running.run_dir / "ec2.pid")
    assert daemon
    os.kill(daemon.pid, 9)
    assert processes.await_end(daemon, timeout_s=10)
    said = up(running)
    assert "its volumes" in said
    after = {item.name: item.instance_id for item in nodes.clients(api(running, "management"))}
    assert set(after) == set(before)
    assert not set(after.values()) & set(before.values())


def begun(settings: SandboxSettings, starting: Future[str]) -> bool:
    """Whether an instance has booted, whose agent starts now."""
    return starting.done() or (settings.log_dir / "client-1.log").exists()


@pytest.mark.nightly
def test_of_thirty_pairs_of_sandboxes_the_one_that_goes_takes_nothing_from_the_one_that_comes(tmp_path: Path) -> None:
    failed: list[str] = []
    # Each of them comes beside the one before it: that goes at once, when an agent starts, or when all is ready.
    moments: list[Callable[[SandboxSettings, Future[str]], bool]] = [
        lambda _coming, _starting: True,
        begun,
        lambda _coming, starting: starting.done(),
    ]
    places = [place(tmp_path / str(number), ONE_INSTANCE) for number in range(PAIRS + 1)]
    with ExitStack() as left, ThreadPoolExecutor(1) as pool:
        for settings in places:
            left.callback(down, settings)
        up(places[0])
        for number, (going, coming) in enumerate(pairwise(places)):
            starting = pool.submit(up, coming)
            until(partial(moments[number % len(moments)], coming, starting), 300)
            down(going)
            try:
                starting.result()
                program = api(coming, "program")
                submit(program)
                running_allocation(program)
            except AssertionError as error:
                failed.append(f"pair {number + 1}: {error}")
    assert failed == []
