"""A sandbox without a stack, and what the examples need of the toolchain."""

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.package.git_server import Folder
from tools.release import files
from tools.toolchain import golang, pins
from tools.trial.running import Running
from tools.wheel import build, uv

SOURCES = Path(__file__).with_name("node_sdk")


@pytest.fixture(scope="package")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build(folder)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="package")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Up, and its environment entered with a state for other programs' stacks."""
    running = Running.prepare(tmp_path_factory.mktemp("project"))
    with running.up("--no-stack"):
        state = tmp_path_factory.mktemp("state")
        running.env.pop("PULUMI_CONFIG_PASSPHRASE_FILE", None)
        running.env.update(PULUMI_BACKEND_URL=f"file://{state}", PULUMI_CONFIG_PASSPHRASE="test")
        yield running


@pytest.fixture(scope="package")
def mirror(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A folder on an HTTP server of its own, and its address."""
    folder = tmp_path_factory.mktemp("mirror")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Folder, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="package")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a release."""
    folder = tmp_path_factory.mktemp("release")
    files.make(folder)
    return folder


@pytest.fixture(scope="package")
def generator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that writes the Node.js SDK: the generator of the pinned Pulumi, without its language host."""
    if shutil.which("go") is None:
        pytest.skip("no Go on PATH to build the generator of the Node.js SDK with")
    workspace = golang.workspace_for(pins.PULUMI.programs[0].pins, tmp_path_factory.mktemp("generator"))
    shutil.copy(SOURCES / "main.go", workspace)
    golang.run_go(["go", "build", "-mod=readonly", "-o", "generate", "."], workspace)
    return workspace / "generate"


def run(command: list[str | Path], folder: Path, env: dict[str, str] | None = None) -> str:
    """Runs a command that must succeed; what it printed."""
    done = subprocess.run(
        command, cwd=folder, env={**os.environ} if env is None else env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def virtual_environment(folder: Path, *wheels: Path) -> Path:
    """A new one that holds the wheels and what they depend on, in the versions of the lock file."""
    target = folder / ".venv"
    run([uv(), "venv", "--quiet", "--seed", "--python", "3.11", target], folder)
    lock = Path(__file__).parents[2] / "requirements.lock"
    # Constraints have no hashes here: the wheels were just made.
    constraints = folder / "constraints.txt"
    lines = lock.read_text(encoding="utf-8").splitlines()
    constraints.write_text("\n".join(line.split(" \\")[0] for line in lines if line and line[0].isalnum()) + "\n")
    run([uv(), "pip", "install", "--quiet", "--python", target / "bin/python", "-c", constraints, *wheels], folder)
    return target
