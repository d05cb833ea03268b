"""`operate upgrade-mysql` under a writer: whole, killed again and again, and to a server that fails on the files.

The older server is the newer one's sibling with another number (sandbox/docker/older_mysql.py): what is upgraded, and
which start is refused, MySQL's own code decides.
"""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import official_parts
from tests.sandbox.test_docker import inside
from tools.bench.clients.pause import Pauses
from tools.faults.writer import MySql, Writer
from tools.trial.running import Running

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]

_PLACE = "nomad-stateful:volumes[{}]"
_WENT_BACK, _STOPPED = 5, 6
_KILLED_AT = ("is complete, and has all", "the settings get", "mysql-job updating")


@pytest.fixture(scope="module")
def docker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running.prepare(tmp_path_factory.mktemp("docker"))
    with running.up("--docker", *official_parts.words()):
        yield running


@pytest.fixture(scope="module")
def versions(docker: Running) -> tuple[str, str]:
    """The older and the newer one of the sandbox's images."""
    tags = inside(docker, "client-1", "docker", "images", "--format", "{{.Tag}}", "mysql").split()
    [older] = [tag for tag in tags if tag.startswith("8.4.")]
    [newer] = [tag for tag in tags if tag != older]
    return older, newer


@pytest.fixture
def on_older(docker: Running, versions: tuple[str, str]) -> Callable[[str], None]:
    """Has the older server run on a new volume of that name."""

    def run(name: str) -> None:
        place = _PLACE.format(len(volumes(docker)))
        values = {f"{place}.name": name, f"{place}.zone": "us-west-2a", f"{place}.sizeGib": "1"}
        values |= {f"{place}.protect": "false", "nomad-stateful:mysql.volume": name}
        values |= {"nomad-stateful:mysql.image": f"mysql:{versions[0]}", "nomad-stateful:mysql.timeoutS": "60"}
        words = [word for path, value in values.items() for word in ("--plaintext", f"{path}={value}")]
        succeed(docker, "pulumi", "config", "set-all", "--path", *words)
        succeed(docker, "pulumi", "up", "--yes", "--skip-preview", "--non-interactive")
        assert version(docker).startswith(versions[0])

    return run


def succeed(docker: Running, *command: str) -> str:
    done = docker.run(*command, timeout_s=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def volumes(docker: Running) -> list[dict[str, Any]]:
    found = json.loads(succeed(docker, "pulumi", "config", "get", "nomad-stateful:volumes"))
    return list(found)


def version(docker: Running) -> str:
    return str(docker.sql(docker.mysql_endpoint(), "SELECT VERSION()")[0][0])


def words(docker: Running, to: str) -> list[str]:
    return [docker.python, "-m", "operate", "upgrade-mysql", to, "--yes", "--json", "--timeout", "30s"]


@contextlib.contextmanager
def writes(docker: Running, folder: Path) -> Iterator[Writer]:
    writer = Writer(MySql(docker.nomad), folder)
    writer.begin()
    try:
        writer.await_new(50, 120)
        yield writer
    finally:
        writer.end()


def assert_all_is_there(docker: Running, writer: Writer, to: str) -> None:
    writer.await_new(50, 120)
    assert version(docker).startswith(to)
    assert not writer.lost()
    succeed(docker, "pulumi", "preview", "--expect-no-changes", "--non-interactive")


def test_no_acknowledged_row_is_lost_and_an_older_version_is_refused_afterwards(
    docker: Running, versions: tuple[str, str], on_older: Callable[[str], None], tmp_path: Path
) -> None:
    older, newer = versions
    on_older("whole")
    with writes(docker, tmp_path) as writer:
        pauses = Pauses(writer)
        pauses.begin()
        done = docker.run(*words(docker, newer), timeout_s=600)
        assert done.returncode == 0, done.stdout + done.stderr
        assert_all_is_there(docker, writer, newer)
        longest_s, acknowledged = pauses.end(), len(writer.acknowledged)
    result = json.loads(done.stdout)
    print(f"\n{older} -> {newer}: {acknowledged} acknowledged, 0 lost, longest pause {longest_s:.1f} s; says {result}")
    assert result["from"].startswith("8.4.")
    assert "completed" in result["dictionary"]
    assert abs(longest_s - result["writesWaitedS"]) < 5
    back = docker.run(*words(docker, older))
    assert back.returncode == 4
    assert "an older one does not start on its files" in back.stderr
    again = docker.run(*words(docker, newer))
    assert (again.returncode, json.loads(again.stdout)["phase"]) == (0, "done")


@contextlib.contextmanager
def until(docker: Running, command: list[str], mark: str) -> Iterator[subprocess.Popen[str]]:
    """Runs the command until it says so."""
    with subprocess.Popen(
        command,
        cwd=docker.project,
        env=docker.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        said = []
        for line in process.stderr or ():
            said.append(line)
            if mark in line:
                break
        else:
            pytest.fail(f"it never said {mark!r}:\n{''.join(said)}")
        yield process


def kill_at(docker: Running, command: list[str], mark: str) -> None:
    """Runs the command until it says so, and kills it with all that it started."""
    with until(docker, command, mark) as process:
        os.killpg(process.pid, signal.SIGKILL)


def test_where_the_image_is_gone_when_it_is_needed_the_server_of_before_comes_back(
    docker: Running, versions: tuple[str, str], on_older: Callable[[str], None], tmp_path: Path
) -> None:
    older, newer = versions
    on_older("back")
    client, image = docker.mysql_endpoint().node_name, f"mysql-for-a-moment:{newer}"
    inside(docker, client, "docker", "tag", f"mysql:{newer}", image)
    with writes(docker, tmp_path) as writer:
        # By then it was tried on this client, and no other has it.
        with until(docker, [*words(docker, newer), "--image", image], "writes wait") as process:
            inside(docker, client, "docker", "rmi", "--force", image)
            said = process.communicate(timeout=600)[1]
        assert process.returncode == _WENT_BACK, said
        assert f"MySQL {newer} never started" in said
        assert_all_is_there(docker, writer, older)


def test_killed_again_and_again_the_same_command_ends_it(
    docker: Running, versions: tuple[str, str], on_older: Callable[[str], None], tmp_path: Path
) -> None:
    on_older("killed")
    with writes(docker, tmp_path) as writer:
        for mark in _KILLED_AT:
            kill_at(docker, words(docker, versions[1]), mark)
        done = docker.run(*words(docker, versions[1]), timeout_s=600)
        assert done.returncode == 0, done.stdout + done.stderr
        assert_all_is_there(docker, writer, versions[1])
        print(f"\nkilled {len(_KILLED_AT)} times: {len(writer.acknowledged)} acknowledged, 0 lost")


def test_where_the_new_server_fails_on_the_files_the_snapshot_has_every_acknowledged_row(
    docker: Running, versions: tuple[str, str], on_older: Callable[[str], None], tmp_path: Path
) -> None:
    older, newer = versions
    on_older("broken")
    # The older one runs without it; the newer one cannot fill the table, and gives its start up in the middle.
    docker.sql(docker.mysql_endpoint(), "ALTER TABLE mysql.help_keyword DROP COLUMN name")
    with writes(docker, tmp_path) as writer:
        done = docker.run(*words(docker, newer), timeout_s=600)
        assert done.returncode == _STOPPED, done.stdout + done.stderr
        told = json.loads(done.stdout)
        assert told["ok"] is False
        image = docker.nomad.get("job/mysql-server", namespace="default")["TaskGroups"][0]["Tasks"][0]["Config"][
            "image"
        ]
        assert image == f"mysql:{newer}", "the older server was put on files that the newer one has changed"
        wait, change, update = told["wayBack"]
        snapshot_id = wait.rpartition(" ")[2]
        docker.ec2.get_waiter("snapshot_completed").wait(SnapshotIds=[snapshot_id], WaiterConfig={"Delay": 1})
        succeed(docker, "sh", "-c", change)
        began = time.monotonic()
        succeed(docker, "sh", "-c", f"{update} --yes --skip-preview --non-interactive")
        print(
            f"\nback on {snapshot_id} after {time.monotonic() - began:.1f} s, {len(writer.acknowledged)} acknowledged"
        )
        assert_all_is_there(docker, writer, older)
