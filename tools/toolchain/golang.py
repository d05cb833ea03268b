"""The Go command: is there a suitable one, and how programs are built with it from the committed pins."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tools.packages import C_COMPILER, ensure_packages
from tools.toolchain import progress
from tools.toolchain.errors import ToolchainError
from tools.toolchain.pins import MINIMUM_GO, Component, GoProgram, sources
from tools.toolchain.versions import parse_version

_REMEDY_GO = f"Install Go {MINIMUM_GO} or newer (https://go.dev/dl/) and run this again"
_SHOWN_LINES = 15


def require_go(workspace: Path) -> str:
    """The path of a `go` that can build what is pinned; `workspace` holds a go.mod, which may select a toolchain."""
    go = shutil.which("go")
    if go is None:
        raise ToolchainError("go", "not on PATH", f"building from source needs Go {MINIMUM_GO} or newer", _REMEDY_GO)
    answer = subprocess.run(
        [go, "env", "GOVERSION"], cwd=workspace, env=_environment(), capture_output=True, text=True, check=False
    )
    version = parse_version(answer.stdout)
    if version is None or version < MINIMUM_GO:
        found = answer.stdout.strip() or answer.stderr.strip()
        raise ToolchainError("go version", found, f"building from source needs Go {MINIMUM_GO} or newer", _REMEDY_GO)
    return go


def require_c_compiler() -> None:
    """Provides the C compiler before a build, not fail minutes into it for want of one."""
    if not os.environ.get("CC"):
        ensure_packages([C_COMPILER])


def workspace_for(pins: str, parent: Path) -> Path:
    """A copy of the pins to build in, so that the go command never writes into the clone."""
    workspace = parent / pins
    if not workspace.is_dir():
        workspace.mkdir(parents=True)
        for source in sources(pins):
            shutil.copyfile(source, workspace / source.name)
    return workspace


def build_component(component: Component, folder: Path) -> None:
    """Builds every program of `component` into `folder`/bin."""
    parent = folder.parent / "work"
    target = folder / "bin"
    target.mkdir()
    for program in component.programs:
        workspace = workspace_for(program.pins, parent)
        go = require_go(workspace)
        if program.needs_c_compiler:
            require_c_compiler()
        with progress.step(f"building {program.name} from source", program.expected_s):
            run_go(build_command(go, program, target), workspace, cgo=program.needs_c_compiler)
    for script in component.scripts:
        source = module_folder(script.module, workspace_for(script.pins, parent)) / script.path
        _copy_script(source, target / source.name)


@contextmanager
def prefetching(components: Sequence[Component]) -> Iterator[None]:
    """Fetches the sources of `components` while something else keeps the processors busy; failures show up later."""
    with tempfile.TemporaryDirectory(prefix="nomad-stateful-") as folder:
        fetches: list[subprocess.Popen[bytes]] = []
        try:
            for program in (program for component in components for program in component.programs):
                workspace = workspace_for(program.pins, Path(folder))
                # Listing what a package depends on fetches exactly the modules its build needs.
                command = [require_go(workspace), "list", "-mod=readonly", "-deps", program.package]
                quiet = subprocess.DEVNULL
                fetches.append(subprocess.Popen(command, cwd=workspace, env=_environment(), stdout=quiet, stderr=quiet))
            yield
        finally:
            for fetch in fetches:
                fetch.terminate()
                fetch.wait()


def build_command(go: str, program: GoProgram, target: Path) -> list[str]:
    """The command that builds `program` into the folder `target`, the same bytes wherever it runs."""
    flags = " ".join(["-s", "-w", *(f"-X {name}={value}" for name, value in program.variables)])
    output = str(target / program.name)
    return [
        *(go, "build", "-mod=readonly", "-trimpath", "-buildvcs=false"),
        *("-ldflags", flags, "-o", output, program.package),
    ]


def module_folder(module: str, workspace: Path) -> Path:
    """Where the go command keeps the pinned source of `module`; fetches it first if need be."""
    go = require_go(workspace)
    run_go([go, "mod", "download", module], workspace)
    return Path(run_go([go, "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", module], workspace).strip())


def run_go(command: list[str], workspace: Path, *, cgo: bool = False) -> str:
    """Runs the go command in `workspace` and returns what it prints; its last lines are shown if it fails."""
    environment = _environment() | {"CGO_ENABLED": "1" if cgo else "0", "GOTMPDIR": str(workspace)}
    result = subprocess.run(command, cwd=workspace, env=environment, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        lines = (result.stderr or result.stdout).strip().splitlines()
        # Fetch messages come first and say nothing about the failure.
        told = [line for line in lines if not line.startswith("go: downloading ")][-_SHOWN_LINES:]
        rule = "the go command must end without an error; it said:\n  " + "\n  ".join(told) + "\n"
        remedy = "Run this again if a server did not answer; GOPROXY and GOFLAGS of the shell are in force"
        raise ToolchainError("go " + command[1], f"exit code {result.returncode}", rule, remedy)
    return result.stdout


def _environment() -> dict[str, str]:
    """The shell's settings, without those that would point the go command at another module."""
    return {**os.environ, "GOWORK": "off", "GO111MODULE": "on"}


def _copy_script(source: Path, target: Path) -> None:
    # Files in the module cache are read-only and never executable.
    shutil.copyfile(source, target)
    target.chmod(0o755)
