"""The parent process of a member's server, with a server and a client of the test's own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from nomad_stateful import jobspec as jobs
from nomad_stateful.agent.membership.disk import START_AGAIN

pytestmark = pytest.mark.sandbox

UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
# Ends as its file says, or waits for a signal. It writes its arguments, and who its parent is to be.
SERVER = """#!/bin/sh
echo "$(ps -o ppid= -p $$ | tr -d ' ') $MYSQLD_PARENT_PID $*" >>"$FOLDER/starts"
trap 'ls "$FOLDER/alloc" >>"$FOLDER/ends"; exit 3' TERM
read -r status <"$FOLDER/status" && rm "$FOLDER/status" && exit "$status"
while :; do sleep 0.1; done
"""
CLIENT = f"""#!/bin/sh
for statement; do :; done
echo "$statement" >>"$FOLDER/asked"
[ ! -e "$FOLDER/refuses" ] || {{ cat "$FOLDER/refuses" >&2 && rm "$FOLDER/refuses" && exit 1; }}
[ -e "$FOLDER/alone" ] || echo {UUID}
"""
ENTER = 'mount --bind "$FOLDER/etc-hosts" /etc/hosts; exec "$@"'


@dataclass
class Parent:
    folder: Path
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        folders = {"NOMAD_SECRETS_DIR": "secrets", "NOMAD_TASK_DIR": "local", "START_SOCKET": "alloc/mysql.sock"}
        env = {name: str(self.folder / path) for name, path in folders.items()}
        env |= {"FOLDER": str(self.folder), "PATH": f"{self.folder}/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
        script = str(jobs.FOLDER / "mysql/member.sh")
        command = ["unshare", "--mount", "sh", "-ec", ENTER, "enter", "sh", script, *(words or ("mysqld", "--port=1"))]
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(command, env=env, stdout=log, stderr=log, start_new_session=True)
        self.processes.append(process)
        return process

    def serve(self) -> subprocess.Popen[bytes]:
        """Starts it, and returns once its server runs."""
        process = self.start()
        self.until(lambda: self.text("starts"))
        return process

    def stop(self, process: subprocess.Popen[bytes]) -> None:
        """Tells it to stop; it ends as its server does that got SIGTERM."""
        process.terminate()
        assert process.wait(20) == 3

    def text(self, name: str) -> str:
        path = self.folder / name
        return path.read_text() if path.exists() else ""

    def has(self, name: str, text: str) -> bool:
        return self.text(name) == text

    def until(self, what: Callable[[], object]) -> None:
        deadline = time.monotonic() + 20
        while not what():
            assert time.monotonic() < deadline, self.text("log")
            time.sleep(0.02)


@pytest.fixture
def parent(tmp_path: Path) -> Iterator[Parent]:
    for name in ("bin", "local", "secrets", "alloc"):
        (tmp_path / name).mkdir()
    for name, text in {"mysqld": SERVER, "mysql": CLIENT}.items():
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "etc-hosts").write_text("127.0.0.1 localhost\n")
    made = Parent(tmp_path)
    yield made
    for process in made.processes:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_a_server_that_a_clone_has_stopped_is_started_again_and_no_other(parent: Parent) -> None:
    (parent.folder / "status").write_text("16\n")
    process = parent.start()
    parent.until(lambda: len(parent.text("starts").splitlines()) == 2)
    for line in parent.text("starts").splitlines():
        assert line == f"{process.pid} {process.pid} --port=1 --super-read-only=ON"
    parent.stop(process)
    (parent.folder / "status").write_text("1\n")
    assert parent.start().wait(20) == 1
    assert len(parent.text("starts").splitlines()) == 3


def test_told_to_stop_it_hands_over_first_and_ends_as_its_server_does(parent: Parent) -> None:
    parent.stop(parent.serve())
    assert f"group_replication_set_as_primary('{UUID}', 5)" in parent.text("asked")
    assert f"member: handed over to {UUID}" in parent.text("log")
    # Routers have heard of it by then.
    assert parent.text("ends") == "leaving\n"
    parent.start()
    parent.until(lambda: len(parent.text("starts").splitlines()) == 2)
    assert not (parent.folder / "alloc/leaving").exists()


def test_a_server_that_takes_no_more_connections_is_asked_again_before_it_is_stopped(parent: Parent) -> None:
    (parent.folder / "refuses").write_text("ERROR 1040 (HY000): Too many connections\n")
    parent.stop(parent.serve())
    assert f"member: handed over to {UUID}" in parent.text("log")


def test_why_nothing_was_handed_over_is_said(parent: Parent) -> None:
    (parent.folder / "bin/mysql").write_text("#!/bin/sh\necho 'ERROR 1040' >&2; exit 1\n")
    parent.stop(parent.serve())
    assert "member: does not hand over: its server cannot be asked: ERROR 1040" in parent.text("log")


def test_a_server_whose_folder_takes_no_file_is_stopped_in_good_order(parent: Parent) -> None:
    process = parent.serve()
    (parent.folder / "alloc").rmdir()
    parent.stop(process)


def test_a_member_that_is_no_primary_or_is_alone_is_stopped_without_handing_over(parent: Parent) -> None:
    (parent.folder / "alone").touch()
    parent.stop(parent.serve())
    assert "group_replication_set_as_primary" not in parent.text("asked")


def test_a_server_that_hangs_on_its_disk_is_killed_by_order(parent: Parent) -> None:
    order = parent.folder / "alloc/kill"
    # Of a server before this one.
    order.write_text("old\n")
    process = parent.serve()
    assert not order.exists()
    order.write_text("commits wait for 12 s\n")
    assert process.wait(20) == 137
    assert not order.exists()
    assert "member: ended the server: commits wait for 12 s" in parent.text("log")


def test_a_server_that_was_left_alone_is_killed_and_started_again_by_order(parent: Parent) -> None:
    order = parent.folder / "alloc/kill"
    process = parent.serve()
    order.write_text(f"{START_AGAIN}no majority\n")
    parent.until(lambda: len(parent.text("starts").splitlines()) == 2)
    assert not order.exists()
    assert "member: ended the server: start again: no majority" in parent.text("log")
    parent.stop(process)


def test_names_of_members_are_kept_up_to_date_in_place(parent: Parent) -> None:
    hosts, inode = parent.folder / "local/hosts", (parent.folder / "etc-hosts").stat().st_ino
    for address in ("10.0.0.1", "10.0.0.2"):
        hosts.write_text(f"{address} member-2\n")
        if address == "10.0.0.1":
            parent.start()
        wanted = f"127.0.0.1 localhost\n# members of the group\n{address} member-2\n"
        parent.until(partial(parent.has, "etc-hosts", wanted))
    assert (parent.folder / "etc-hosts").stat().st_ino == inode


def test_a_member_that_is_registered_nowhere_keeps_its_address(parent: Parent) -> None:
    hosts, head = parent.folder / "local/hosts", "127.0.0.1 localhost\n# members of the group\n"
    hosts.write_text("10.0.0.2 member-2\n10.0.0.3 member-3\n")
    process = parent.start()
    parent.until(partial(parent.has, "etc-hosts", f"{head}10.0.0.2 member-2\n10.0.0.3 member-3\n"))
    hosts.write_text("10.0.0.4 member-3\n")
    parent.until(partial(parent.has, "etc-hosts", f"{head}10.0.0.4 member-3\n10.0.0.2 member-2\n"))
    process.terminate()
    process.wait(20)
    # Docker gives a container that is started anew a file of its own.
    (parent.folder / "etc-hosts").write_text("127.0.0.1 localhost\n")
    hosts.write_text("")
    parent.start()
    parent.until(partial(parent.has, "etc-hosts", f"{head}10.0.0.4 member-3\n10.0.0.2 member-2\n"))


@pytest.mark.parametrize(
    ("words", "more"),
    [
        ("--initialize-insecure", " --skip-log-bin"),
        ("--daemonize --skip-networking", " --skip-log-bin"),
        ("--datadir=/d/first-start", " --skip-log-bin"),
        ("--version", ""),
        ("--verbose --help", ""),
    ],
)
def test_a_data_directory_is_made_without_being_read_only_and_unlogged(parent: Parent, words: str, more: str) -> None:
    (parent.folder / "status").write_text("0\n")
    assert parent.start("mysqld", *words.split()).wait(20) == 0
    assert parent.text("starts").split(maxsplit=2)[2] == f"{words}{more}\n"
