"""An instance is paused while a snapshot is taken, and everything in it runs on afterwards."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from sandbox.machine import guest
from sandbox.machine.inventory import enter_process
from sandbox.machine.machine import parents
from tests.sandbox.local_cloud import until

pytestmark = [pytest.mark.sandbox, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]

PAUSES, PROGRAMS, BUSY = 15, 12, 4


def started(stack: ExitStack, *argv: str) -> subprocess.Popen[bytes]:
    process = stack.enter_context(subprocess.Popen(argv))
    stack.callback(process.kill)
    return process


@pytest.fixture
def first() -> Iterator[int]:
    """The first process of namespaces that are an instance's."""
    with ExitStack() as stack:
        outside = started(
            stack, "unshare", "--pid", "--fork", "--kill-child", "--mount", "--uts", "--net", "sleep", "inf"
        )
        until(lambda: outside.pid in parents().values())
        yield next(pid for pid, parent in parents().items() if parent == outside.pid)


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]


def test_who_entered_a_paused_instance_goes_on_after_it_and_can_be_ended(first: int) -> None:
    with ExitStack() as stack:
        for _ in range(BUSY):
            started(stack, "sh", "-c", "while :; do :; done")
        programs = [started(stack, *enter_process(first), "sleep", "inf") for _ in range(PROGRAMS)]
        until(lambda: {one.pid for one in programs} <= set(parents().values()))
        for _ in range(PAUSES):
            with guest.paused(first):
                assert {state(one.pid) for one in programs} == {"T"}
            until(lambda: "T" not in {state(one.pid) for one in programs})
