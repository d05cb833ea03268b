"""What every test run has in common: on a machine that cannot run a test it says so, and CI fails for it."""

import asyncio
import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest

from sandbox.machine import requirements
from tests import closing_lines, module_times, official_parts

# The same examples in every run; HYPOTHESIS_PROFILE=long draws many more, and others each time.
hypothesis.settings.register_profile("bounded", derandomize=True, deadline=None, max_examples=100)
hypothesis.settings.register_profile("long", deadline=None, max_examples=2000, print_blob=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "bounded"))

NEEDS = {
    "sandbox": "root, and a kernel that lets it make namespaces, mounts and loop devices",
    "nomad": "the nomad binary of the toolchain",
    "engine": "the pulumi binary of the toolchain",
}


@pytest.fixture(autouse=True, scope="session")
def loop() -> asyncio.AbstractEventLoop:
    """The loop that Pulumi's mocks take. It is never closed: with it would go the loops of its threads, open."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    return loop


@pytest.fixture(autouse=True)
def kept_loop(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Fails a test that leaves another event loop: nobody closes the first, and another test fails for it."""
    yield
    assert asyncio.get_event_loop() is loop, "run a coroutine by loop.run_until_complete(), not by asyncio.run()"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Takes what `make test-times` asks for."""
    parser.addoption("--record-times", action="store_true", help="keep how long each module took in the project")


def pytest_configure(config: pytest.Config) -> None:
    """Has a run say how far it is; workers have nothing to say."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(module_times.Progress(config))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Takes what failed last and the slowest files first; leaves out what the machine or OFFICIAL has nothing for."""
    _leave_official_parts_out(config, items)
    module_times.order(config, items)
    marked = [item for item in items if item.get_closest_marker("sandbox")]
    reason = requirements.lacking() if marked else None
    if reason:
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=f"needs {NEEDS['sandbox']}: {reason}"))


def _leave_official_parts_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    left = {
        item: mark.args[0]
        for item in items
        if (mark := item.get_closest_marker("official")) and not official_parts.has(mark.args[0])
    }
    if left:
        items[:] = [item for item in items if item not in left]
        config.hook.pytest_deselected(items=list(left))
        counts = ", ".join(f"{program} {count}" for program, count in sorted(Counter(left.values()).items()))
        closing_lines.say(f"left out, since OFFICIAL names no folder with the part: {counts}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI nothing may be left out; a worker hands over what the run is to end with."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["closing"] = closing_lines.handed_over()
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = len(reporter.stats.get("skipped", [])) if reporter else 0
    if skipped and os.environ.get("CI") and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A worker has ended."""
    closing_lines.take_over(getattr(node, "workeroutput", {}).get("closing") or {"lines": [], "counts": {}})


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Shows what other suites said, names what was left out, and what CI thinks of it."""
    for line in closing_lines.closing_lines():
        terminalreporter.write_line(line)
    skipped = terminalreporter.stats.get("skipped", [])
    if skipped and os.environ.get("CI"):
        terminalreporter.write_line(f"{len(skipped)} tests were left out (see above); CI does not accept that.")
