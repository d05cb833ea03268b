import subprocess
from pathlib import Path

import pytest

from sandbox.machine import processes
from sandbox.settings import SandboxSettings, parse_settings
from sandbox.stack import environment

OUTER = {
    "PATH": "/usr/bin:/bin",
    "AWS_PROFILE": "mine",
    "AWS_CA_BUNDLE": "/etc/ca.pem",
    "AWS_SESSION_TOKEN": "mine",
    "PULUMI_ACCESS_TOKEN": "mine",
    "NOMAD_NAMESPACE": "mine",
    "NO_PROXY": "localhost",
}


@pytest.fixture
def settings(tmp_path: Path) -> SandboxSettings:
    home = tmp_path / "it's a $HOME; `here`"
    home.mkdir()
    return parse_settings({}, home)


def sourced(settings: SandboxSettings, times: int) -> dict[str, str]:
    environment.write(settings, Path("/tool chain/bin"))
    script = '. "$0";' * times + "/usr/bin/env -0"
    done = subprocess.run(
        ["/bin/sh", "-c", script, str(settings.env_file)], env=OUTER, capture_output=True, text=True, check=True
    )
    return dict(line.split("=", 1) for line in done.stdout.split("\0") if line)


def test_a_shell_that_sources_the_file_has_exactly_the_values_whatever_is_in_them(settings: SandboxSettings) -> None:
    found = sourced(settings, 1)
    for name, value in environment.exports(settings).items():
        assert found[name] == value
    assert found["PULUMI_HOME"] == f"{settings.home}/pulumi-home"
    assert found["PATH"].startswith("/tool chain/bin:")
    assert found["PATH"].endswith(":/usr/bin:/bin")


def test_the_engines_garbage_collector_is_not_the_agents(settings: SandboxSettings) -> None:
    found = sourced(settings, 1)
    assert found["GOGC"] == "400"
    assert "GOGC" not in processes.environment(found)


def test_nothing_of_the_callers_own_accounts_gets_through(settings: SandboxSettings) -> None:
    found = sourced(settings, 1)
    assert not set(found) & set(environment.UNSET)
    assert found["AWS_ACCESS_KEY_ID"].startswith("AKIA")
    assert str(settings.gateway) in found["NO_PROXY"].split(",")
    assert "localhost" in found["NO_PROXY"].split(",")


def test_sourcing_the_file_twice_is_like_sourcing_it_once(settings: SandboxSettings) -> None:
    assert sourced(settings, 2) == sourced(settings, 1)


def test_a_process_of_ours_gets_the_same_as_a_shell(settings: SandboxSettings) -> None:
    shell = sourced(settings, 1)
    own = environment.process_environment(settings, Path("/tool chain/bin"), OUTER)
    shell.pop("PWD", None)
    assert {name: value for name, value in own.items() if "proxy" not in name.lower()} == {
        name: value for name, value in shell.items() if "proxy" not in name.lower()
    }
    assert set(own["NO_PROXY"].split(",")) == set(shell["NO_PROXY"].split(","))


def test_the_file_and_the_keys_in_it_are_private_and_stay_the_same(settings: SandboxSettings) -> None:
    assert environment.write(settings, Path("/bin"))
    assert not environment.write(settings, Path("/bin"))
    for path in (settings.env_file, settings.home / "aws-credentials.json"):
        assert path.stat().st_mode & 0o777 == 0o600
