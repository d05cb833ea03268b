"""What a sandbox of its own sees of the shell that starts it."""

from ipaddress import IPv4Network
from pathlib import Path

import pytest

from tests.programs import make_program
from tools.trial.ground import Ground
from tools.trial.running import Running, copy_project

ELSEWHERE = ("AWS_PROFILE", "NOMAD_TOKEN", "PULUMI_STACK", "NOMAD_STATEFUL_SANDBOX_HOME", "AWS_CA_BUNDLE", "PYTHONPATH")


def test_nothing_leads_it_to_a_real_account_or_another_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ELSEWHERE:
        monkeypatch.setenv(name, "elsewhere")
    monkeypatch.setenv("NOMAD_STATEFUL_TOOLCHAIN", "build")

    running = Running.of(tmp_path, Ground("x", IPv4Network("10.0.0.0/24")))

    assert "elsewhere" not in running.env.values()
    assert running.env["NOMAD_STATEFUL_TOOLCHAIN"] == "build"


@pytest.mark.parametrize(("losses", "status"), [(0, 0), (2, 0), (0, 3)])
def test_a_command_in_a_task_is_run_until_all_that_it_said_is_there(tmp_path: Path, losses: int, status: int) -> None:
    loses = f'[ "$(wc -l <{tmp_path}/runs)" -ge {losses} ] || {{ echo >>{tmp_path}/runs; exit 0; }}'
    make_program(tmp_path / "nomad", loses + '\nwhile [ "$1" != 8f3c ]; do shift; done; shift; exec "$@"')
    (tmp_path / "runs").touch()
    token = tmp_path / ".sandbox/nomad/management.token"
    token.parent.mkdir(parents=True)
    token.write_text("t")
    running = Running.of(tmp_path, Ground("x", IPv4Network("10.0.0.0/24")))
    running.env["PATH"] = f"{tmp_path}:{running.env['PATH']}"
    done = running.in_task("8f3c", "sh", "-c", f"echo one; exit {status}", task="mysql")
    assert (done.stdout, done.returncode) == ("one\n", status)


def test_a_copy_of_the_project_has_the_components_and_the_jobs_in_the_package(tmp_path: Path) -> None:
    copy_project(tmp_path)
    assert (tmp_path / "nomad_stateful/components/database.py").samefile(tmp_path / "components/database.py")
    assert (tmp_path / "nomad_stateful/jobs/database.nomad.hcl").samefile(tmp_path / "jobs/database.nomad.hcl")
