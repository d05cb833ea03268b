import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox.machine import processes

SLEEP = ["sleep", "60"]


@pytest.fixture
def pid_file(tmp_path: Path) -> Path:
    return tmp_path / "run" / "thing.pid"


def start(pid_file: Path, argv: list[str]) -> processes.ProcessRecord:
    return processes.start(argv, pid_file=pid_file, log_file=pid_file.parent.parent / "log" / "thing.log")


def test_a_started_daemon_is_alive_in_a_session_of_its_own_until_it_is_stopped(pid_file: Path) -> None:
    record = start(pid_file, SLEEP)
    assert processes.is_alive(pid_file)
    assert os.getsid(record.pid) == record.pid
    assert processes.stop(pid_file)
    assert not processes.is_running(record)
    assert not any(pid_file.parent.iterdir())


def test_the_log_is_private_and_keeps_what_earlier_runs_said(pid_file: Path) -> None:
    for word in ("one", "two"):
        record = start(pid_file, ["sh", "-c", f"echo {word}; exec sleep 0.2"])
        assert processes.await_end(record, timeout_s=10)
    log = pid_file.parent.parent / "log" / "thing.log"
    assert log.read_text() == "one\ntwo\n"
    assert log.stat().st_mode & 0o777 == 0o600


def test_a_reused_pid_is_neither_alive_nor_stopped(pid_file: Path) -> None:
    record = start(pid_file, SLEEP)
    processes.write_record(pid_file, replace(record, start_time=record.start_time - 1))
    assert not processes.is_alive(pid_file)
    assert not processes.stop(pid_file)
    assert processes.is_running(record)
    assert processes.stop_process(record)


def test_a_record_of_another_boot_means_nothing(pid_file: Path) -> None:
    record = start(pid_file, SLEEP)
    processes.write_record(pid_file, replace(record, boot_id="another"))
    assert not processes.stop(pid_file)
    assert processes.stop_process(record)


def test_a_process_that_ignores_the_request_is_killed_after_the_timeout(pid_file: Path) -> None:
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert process.stdout
    process.stdout.readline()
    process.stdout.close()
    record = processes.identify(process.pid)
    assert processes.stop_process(record, timeout_s=0.1)
    process.wait()
    assert not processes.is_running(record)


def test_a_dead_child_that_nobody_has_waited_for_is_not_running() -> None:
    process = subprocess.Popen(["true"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert processes.start_time(process.pid) is None
    process.wait()


@pytest.mark.parametrize("text", ["", "{", "[]", json.dumps({"pid": "x"})])
def test_a_record_that_was_cut_short_is_no_record(pid_file: Path, text: str) -> None:
    pid_file.parent.mkdir()
    processes.record_path(pid_file).write_text(text)
    assert processes.read_record(pid_file) is None
    assert not processes.stop(pid_file)


def test_a_program_that_does_not_exist_is_an_error(pid_file: Path) -> None:
    with pytest.raises(FileNotFoundError):
        start(pid_file, ["/no/such/program"])
