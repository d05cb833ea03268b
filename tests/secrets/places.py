"""The places of a running stack in which a secret must not be."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from nomad_stateful.nomad.api import NomadApi, NomadError
from tests.secrets.scan import Piece

COMMANDS = ("status", "doctor", "metrics", "snapshots")
EVENTS_S = 2
"""How long the event stream is read: it begins with what the server kept, and never ends."""


class Places:
    """A stack's places, for a shell's environment that leads to it.

    ``token`` is one that may read all events and logs; ``logs`` are folders whose log files are read.
    """

    def __init__(self, env: Mapping[str, str], project: Path, token: str = "", logs: tuple[Path, ...] = ()) -> None:
        self._env = {**env, "NOMAD_TOKEN": token or env["NOMAD_TOKEN"]}
        self._own_env = env
        self._project = project
        self._logs = logs

    def all(self) -> Iterator[Piece]:
        """Everything that can be looked at."""
        yield from self.state()
        yield from self.engine_events()
        yield from self.commands()
        yield from self.nomad()
        yield from self.task_logs()
        yield from self.nomad_events()
        yield from self.log_files()
        yield from processes()

    def state(self) -> Iterator[Piece]:
        """The state as anybody may export it, and the files of a backend that is a folder."""
        yield Piece("state", "pulumi stack export", self._run(self._own_env, "pulumi", "stack", "export"))
        yield Piece("state", "pulumi stack output", self._run(self._own_env, "pulumi", "stack", "output", "--json"))
        backend = self._own_env.get("PULUMI_BACKEND_URL", "")
        if backend.startswith("file://"):
            yield from _files("state", Path(urlsplit(backend).path))

    def engine_events(self) -> Iterator[Piece]:
        """What the engine tells whoever watches it, with the details of every resource."""
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "events"
            shown = self._run(
                {**self._own_env, "PULUMI_DEBUG_COMMANDS": "1"},
                *("pulumi", "preview", "--refresh", "--diff", "--show-sames", "--show-reads", "--non-interactive"),
                *("--event-log", str(log)),
            )
            yield Piece("engine", "pulumi preview --diff", shown)
            yield Piece("engine", "pulumi preview --event-log", log.read_bytes())

    def commands(self) -> Iterator[Piece]:
        """What the commands say that only read."""
        for command in COMMANDS:
            said = self._run(self._own_env, sys.executable, "-m", "nomad_stateful.operate", command, may_fail=True)
            yield Piece("command", f"operate {command}", said)

    def nomad(self) -> Iterator[Piece]:
        """Jobs in every version, their files as they were submitted, allocations with the events of their tasks."""
        api = NomadApi.from_env(environ=self._env)
        try:
            for job in api.get("jobs", namespace="*"):
                name, namespace = job["ID"], job["Namespace"]
                for version in api.get(f"job/{name}/versions", namespace=namespace)["Versions"]:
                    number = version["Version"]
                    yield _json("job", f"{name} version {number}", version)
                    try:
                        submitted = api.get(f"job/{name}/submission", namespace=namespace, version=number)
                    except NomadError:  # of a child that Nomad made, or one submitted as JSON
                        continue
                    yield _json("submission", f"{name} version {number}", submitted)
            for stub in api.get("allocations", namespace="*", task_states=True):
                allocation = api.get(f"allocation/{stub['ID']}", namespace=stub["Namespace"])
                yield _json("allocation", f"{stub['ID']} of {stub['JobID']}", allocation)
            for kind in ("evaluations", "deployments", "services"):
                yield _json("nomad", kind, api.get(kind, namespace="*"))
            yield _json("nomad", "volumes", api.get("volumes", namespace="*", type="csi"))
        finally:
            api.close()

    def task_logs(self) -> Iterator[Piece]:
        """What the tasks wrote, of the allocations that still have it."""
        for task, arguments in self._tasks():
            for stream in ("-stdout", "-stderr"):
                printed = self._run(self._env, "nomad", "alloc", "logs", stream, *arguments, may_fail=True)
                yield Piece("task log", f"{task} {stream}", printed)

    def nomad_events(self) -> Iterator[Piece]:
        """The events the server has kept."""
        command = ["nomad", "operator", "api", "/v1/event/stream?index=1&namespace=*"]
        try:
            done = subprocess.run(command, env=self._env, capture_output=True, timeout=EVENTS_S, check=False)
            printed = done.stdout
            assert not done.stderr, f"the events cannot be read: {done.stderr.decode()}{printed.decode()}"
        except subprocess.TimeoutExpired as reading:
            printed = reading.stdout or b""
        yield Piece("nomad event", "event stream", printed)

    def log_files(self) -> Iterator[Piece]:
        """The log files below the folders."""
        for folder in self._logs:
            for path in sorted({*folder.rglob("*.log"), *folder.rglob("log/*"), *folder.rglob("alloc/logs/*")}):
                yield from _file("log file", path)

    def _tasks(self) -> Iterator[tuple[str, list[str]]]:
        api = NomadApi.from_env(environ=self._env)
        try:
            for stub in api.get("allocations", namespace="*", task_states=True):
                for task in stub["TaskStates"] or {}:
                    arguments = ["-namespace", stub["Namespace"], "-task", task, stub["ID"]]
                    yield f"{stub['JobID']}/{task} {stub['ID'][:8]}", arguments
        finally:
            api.close()

    def _run(self, env: Mapping[str, str], *command: str, may_fail: bool = False) -> bytes:
        done = subprocess.run(command, cwd=self._project, env=env, capture_output=True, timeout=300, check=False)
        said = done.stdout + done.stderr
        assert may_fail or done.returncode == 0, f"{' '.join(command)} failed:\n{said.decode(errors='replace')}"
        return said


def processes(folder: Path = Path("/proc")) -> Iterator[Piece]:
    """Command line and environment of every process.

    A shell's credentials are left in the environment of what it started, where their own variables hold them.
    """
    for process in sorted(folder.glob("[0-9]*")):
        try:
            command, environ = (process / "cmdline").read_bytes(), (process / "environ").read_bytes()
        except OSError:  # it has ended, or is not ours to look at
            continue
        name = f"process {process.name} ({command.split(bytes(1))[0].decode(errors='replace')})"
        yield Piece("command line", name, command)
        others = [line for line in environ.split(bytes(1)) if line.partition(b"=")[0].decode() not in OWN_VARIABLES]
        yield Piece("environment", name, bytes(1).join(others))


OWN_VARIABLES = frozenset(
    {
        *("NOMAD_TOKEN", "NOMAD_OPERATOR_TOKEN", "AWS_SECRET_ACCESS_KEY", "PULUMI_CONFIG_PASSPHRASE"),
        # MySQL's image exports to the server what it has read from the file.
        "MYSQL_ROOT_PASSWORD",
    }
)
"""Variables that are a credential's own place."""


def _json(kind: str, place: str, content: Any) -> Piece:
    return Piece(kind, place, json.dumps(content, ensure_ascii=False).encode())


def _files(kind: str, folder: Path) -> Iterator[Piece]:
    for path in sorted(folder.rglob("*")):
        yield from _file(kind, path)


def _file(kind: str, path: Path) -> Iterator[Piece]:
    if path.is_file() and not path.is_symlink():
        yield Piece(kind, str(path), path.read_bytes())
