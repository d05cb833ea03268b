"""What every test run has in common: on a machine that cannot run a test it says so, and CI fails for it."""

import os
import subprocess

import pytest

NEEDS = {
    "sandbox": "root, and a kernel that lets it make namespaces, mounts and loop devices",
    "nomad": "the nomad binary of the toolchain",
    "engine": "the pulumi binary of the toolchain",
}


def namespaces_refused() -> str:
    """Why this machine cannot run the sandbox; empty when it can."""
    if os.geteuid() != 0:
        return "this is not root"
    probe = subprocess.run(
        ["unshare", "--net", "--mount", "--pid", "--uts", "--fork", "losetup", "--find"],
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if probe.returncode == 0 else probe.stderr.strip() or "namespaces or loop devices are refused"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves out what needs the sandbox where there can be none, with the reason."""
    marked = [item for item in items if item.get_closest_marker("sandbox")]
    reason = namespaces_refused() if marked else ""
    if reason:
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=f"needs {NEEDS['sandbox']}: {reason}"))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI nothing may be left out."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = len(reporter.stats.get("skipped", [])) if reporter else 0
    if skipped and os.environ.get("CI") and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Names what was left out, and what CI thinks of it."""
    skipped = terminalreporter.stats.get("skipped", [])
    if skipped and os.environ.get("CI"):
        terminalreporter.write_line(f"{len(skipped)} tests were left out (see above); CI does not accept that.")
