"""`make up` by phase, and the machine that has nothing on it."""

import subprocess
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from tools.bench import bringing_up, page, samples, tables
from tools.bench.recorder import Recorder
from tools.trial.ground import Ground
from tools.trial.running import Running

GROUND = Ground("x", IPv4Network("10.0.0.0/24"))
UP = """toolchain: no official release of nomad 1.11.3 from here: refused after 0.1 s
toolchain: building nomad from source (since 10:00:00, takes about 300 s)
toolchain: building nomad from source: 10 s of about 300 s, since 10:00:00
toolchain: building nomad from source: done in 231 s
toolchain: downloading https://host/releases/pulumi-v3.200.0-linux-x64.tar.gz: done in 9 s
up:   ended a pulumi
up: tools: pulumi and nomad from /x (245.3 s)
up: stack: dev: 27 create (19.4 s)
other (1.0 s)
"""


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[Running]:
    """What was prepared in the place of a sandbox: a project whose virtual environment is a link, and no more."""
    found: list[Running] = []

    def prepare(project: Path, ground: Ground) -> Running:
        project.mkdir()
        (project / ".venv").symlink_to(page.PROJECT / ".venv")
        env = {"PATH": "/usr/bin", "GOMODCACHE": "/shared", "PIP_CACHE_DIR": "/shared", "MAKEFLAGS": "-- ARGS=--cold"}
        found.append(Running(project, env, ground))
        return found[0]

    monkeypatch.setattr(Running, "prepare", prepare)
    return found


def answering(clone: Running, monkeypatch: pytest.MonkeyPatch, *, bootstrap_fails: bool) -> list[str]:
    """Has the project's commands answer; returns what is going to be run."""
    ran: list[str] = []

    def run(*command: str, **_: object) -> subprocess.CompletedProcess[str]:
        ran.append(" ".join(command))
        failed = bootstrap_fails and command[-1] == "bootstrap"
        return subprocess.CompletedProcess(command, int(failed), "", "make[1]: *** Error 1\n" if failed else UP)

    monkeypatch.setattr(clone, "run", run)
    return ran


def test_phases_come_with_the_toolchains_parts_by_name() -> None:
    assert bringing_up.phases(UP) == [
        ("tools: building nomad from source", 231),
        ("tools: downloading pulumi-v3.200.0-linux-x64.tar.gz", 9),
        ("tools", 245.3),
        ("stack", 19.4),
    ]


def test_a_bare_clone_shares_no_cache_and_no_environment_with_anyone(prepared: list[Running]) -> None:
    with bringing_up.bare_clone(GROUND) as running:
        folder = running.project.parent
        assert running is prepared[0]
        assert not (running.project / ".venv").exists()
        assert all(Path(running.env[name]).is_relative_to(folder) for name in ("HOME", "XDG_CACHE_HOME"))
        assert running.env.keys() == {"PATH", "HOME", "XDG_CACHE_HOME"}
    assert (page.PROJECT / ".venv").is_dir()


def test_programs_of_the_shared_cache_are_not_found_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/shared")
    path = "/usr/bin:/shared/nomad-stateful/toolchain/bin-1:/bin"
    assert bringing_up.bare_env({"PATH": path}, Path("/new"))["PATH"] == "/usr/bin:/bin"


def test_nothing_is_left_of_a_bare_clone_even_when_it_was_written_read_only(prepared: list[Running]) -> None:
    def interrupted() -> None:
        with bringing_up.bare_clone(GROUND) as running:
            modules = Path(running.env["HOME"], "go/pkg/mod")
            modules.mkdir(parents=True)
            (modules / "go.mod").touch(0o400)
            modules.chmod(0o500)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not prepared[0].project.parent.exists()


def test_a_cold_way_up_is_kept_by_parts_and_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    clone = Running(tmp_path, {}, GROUND)
    ran = answering(clone, monkeypatch, bootstrap_fails=False)
    recorder = Recorder(tmp_path / page.SAMPLES)
    bringing_up.measure_cold(clone, recorder)
    assert ran == ["make bootstrap", "make up"]
    kept = samples.read(tmp_path / page.SAMPLES)
    assert {one.case for one in kept} == {bringing_up.COLD}
    assert [one.measure for one in kept] == ["bootstrap", "all", *[name for name, _ in bringing_up.phases(UP)]]
    assert "| tools: building nomad from source | **231.0** |" in tables.cold(kept)
    assert tables.cold([]) == tables.NOT_YET


def test_a_cold_way_up_that_fails_is_shown_as_failed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    clone = Running(tmp_path, {}, GROUND)
    answering(clone, monkeypatch, bootstrap_fails=True)
    recorder = Recorder(tmp_path / page.SAMPLES)
    bringing_up.measure_cold(clone, recorder)
    (line,) = tables.cold(recorder.samples).splitlines()[2:]
    assert line.startswith("| all | failed: ")
