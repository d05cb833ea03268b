"""`nomad-stateful upgrade-mysql` under a writer: whole, killed again and again, to a server that fails on the files.

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
from tools.faults.clients import Clients
from tools.faults.pauses import Pauses
from tools.faults.writer import Served, Writer
from tools.histories.statements import MYSQL
from tools.trial.instances import inside
from tools.trial.running import Running

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]

_PLACE = "nomad-stateful:volumes[{}]"
_WENT_BACK, _STOPPED = 5, 6
_KILLED_AT = ("is complete, and has all", "the settings get", "mysql-job updating")


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running.prepare(tmp_path_factory.mktemp("project"))
    with running.up("--all-images", *official_parts.words()):
        yield running


@pytest.fixture(scope="module")
def versions(stack: Running) -> tuple[str, str]:
    """The older and the newer one of the sandbox's images."""
    tags = inside(stack, "client-1", "docker", "images", "--format", "{{.Tag}}", "mysql").split()
    [older], [newer] = ([tag for tag in tags if tag.startswith(series)] for series in ("8.4.", "9.7."))
    return older, newer


@pytest.fixture
def on_older(stack: Running, versions: tuple[str, str]) -> Callable[[str], None]:
    """Has the older server run on a new volume of that name."""

    def run(name: str) -> None:
        place = _PLACE.format(len(volumes(stack)))
        values = {f"{place}.name": name, f"{place}.zone": "us-west-2a", f"{place}.sizeGib": "1"}
        values |= {f"{place}.protect": "false", "nomad-stateful:mysql.volume": name}
        values |= {"nomad-stateful:mysql.image": f"mysql:{versions[0]}", "nomad-stateful:mysql.timeoutS": "60"}
        words = [word for path, value in values.items() for word in ("--plaintext", f"{path}={value}")]
        succeed(stack, "pulumi", "config", "set-all", "--path", *words)
        succeed(stack, "pulumi", "up", "--yes", "--skip-preview", "--non-interactive")
        assert version(stack).startswith(versions[0])

    return run


def succeed(stack: Running, *command: str) -> str:
    done = stack.run(*command, timeout_s=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def volumes(stack: Running) -> list[dict[str, Any]]:
    found = json.loads(succeed(stack, "pulumi", "config", "get", "nomad-stateful:volumes"))
    return list(found)


def version(stack: Running) -> str:
    return str(stack.sql(stack.server_endpoint(), "SELECT VERSION()")[0][0])


def words(stack: Running, to: str) -> list[str]:
    return [stack.python, "-m", "nomad_stateful.operate", "upgrade-mysql", to, "--yes", "--json", "--timeout", "30s"]


@contextlib.contextmanager
def writes(stack: Running, folder: Path) -> Iterator[Writer]:
    database = Served(stack.nomad)
    writer = Writer(database, folder, clients=Clients(database.connected, MYSQL))
    writer.begin()
    try:
        writer.await_new(50, 120)
        yield writer
    finally:
        writer.end()


def assert_all_is_there(stack: Running, writer: Writer, to: str) -> None:
    writer.await_new(50, 120)
    assert version(stack).startswith(to)
    assert not writer.lost()
    assert not writer.contradictions()
    succeed(stack, "pulumi", "preview", "--expect-no-changes", "--non-interactive")


def test_no_acknowledged_row_is_lost_and_an_older_version_is_refused_afterwards(
    stack: Running, versions: tuple[str, str], on_older: Callable[[str], None], tmp_path: Path
) -> None:
    older, newer = versions
    on_older("whole")
    with writes(stack, tmp_path) as writer:
        with Pauses(writer) as pauses:
            done = stack.run(*words(stack, newer), timeout_s=600)
            assert done.returncode == 0, done.stdout + done.stderr
            assert_all_is_there(stack, writer, newer)
        longest_s, acknowledged = pauses.longest_s, len(writer.acknowledged)
    result = json.loads(done.stdout)
    print(f"\n{older} -> {newer}: {acknowledged} acknowledged, 0 lost, longest pause {longest_s:.1f} s; says {result}")
    assert result["from"].startswith("8.4.")
    assert "completed" in result["dictionary"]
    assert abs(longest_s - result["writesWaitedS"]) < 5
    back = stack.run(*words(stack, older))
    assert back.returncode == 4
    assert "an older one does not start on its files" in back.stderr
    again = stack.run(*words(stack, newer))
    assert (again.returncode, json.loads(again.stdout)["phase"]) == (0, "done")


@contextlib.contextmanager
def until(stack: Running, command: list[str], mark: str) -> Iterator[subprocess.Popen[str]]:
    """Runs the command until it says so."""
    with subprocess.Popen(
        command,
        cwd=stack.project,
        env=stack.env,
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


def kill_at(stack: Running, command: list[str], mark: str) -> None:
    """Runs the command until it says so, and kills it with all that it started."""
    with until(stack, command, mark) as process:
        os.killpg(process.pid, signal.SIGKILL)


def test_where_the_image_is_gone_when_it_is_needed_the_server_of_before_comes_back(
    stack: Running, versions: tuple[str, str], on_older: Callable[[str], None], tmp_path: Path
) -> None:
    older, newer = versions
    on_older("back")
    client, image = stack.server_endpoint().node_name, f"mysql-for-a-moment:{newer}"
    inside(stack, client, "docker", "tag", f"mysql:{newer}", image)
    with writes(stack, tmp_path) as writer:
        # By then it was tried on this client, and no other has it.
        with until(stack, [*words(stack, newer), "--image", image], "==> writes wait") as process:
            inside(stack, client, "docker", "rmi", "--force", image)
            said = process.communicate(timeout=600)[1]
        assert process.returncode == _WENT_BACK, said
        assert f"MySQL {newer} never started" in said
        assert_all_is_there(stack, writer, older)


def test_killed_again_and_again_the_same_command_ends_it(
    stack: Running, versions: tuple[str, str], on_older: Callable[[str], None], tmp_path: Path
) -> None:
    on_older("killed")
    with writes(stack, tmp_path) as writer:
        for mark in _KILLED_AT:
            kill_at(stack, words(stack, versions[1]), mark)
        done = stack.run(*words(stack, versions[1]), timeout_s=600)
        assert done.returncode == 0, done.stdout + done.stderr
        assert_all_is_there(stack, writer, versions[1])
        print(f"\nkilled {len(_KILLED_AT)} times: {len(writer.acknowledged)} acknowledged, 0 lost")


def test_where_the_new_server_fails_on_the_files_the_snapshot_has_every_acknowledged_row(
    stack: Running, versions: tuple[str, str], on_older: Callable[[str], None], tmp_path: Path
) -> None:
    older, newer = versions
    on_older("broken")
    # The older one runs without it; the newer one cannot fill the table, and gives its start up in the middle.
    stack.sql(stack.server_endpoint(), "ALTER TABLE mysql.help_keyword DROP COLUMN name")
    with writes(stack, tmp_path) as writer:
        done = stack.run(*words(stack, newer), timeout_s=600)
        assert done.returncode == _STOPPED, done.stdout + done.stderr
        told = json.loads(done.stdout)
        assert told["ok"] is False
        image = stack.nomad.get("job/mysql-server", namespace="default")["TaskGroups"][0]["Tasks"][0]["Config"]["image"]
        assert image == f"mysql:{newer}", "the older server was put on files that the newer one has changed"
        wait, change, update = told["wayBack"]
        snapshot_id = wait.rpartition(" ")[2]
        stack.ec2.get_waiter("snapshot_completed").wait(SnapshotIds=[snapshot_id], WaiterConfig={"Delay": 1})
        succeed(stack, "sh", "-c", change)
        began = time.monotonic()
        succeed(stack, "sh", "-c", f"{update} --yes --skip-preview --non-interactive")
        print(
            f"\nback on {snapshot_id} after {time.monotonic() - began:.1f} s, {len(writer.acknowledged)} acknowledged"
        )
        assert_all_is_there(stack, writer, older)
