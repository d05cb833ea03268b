"""A lane: one sandbox with a deployed stack, a writer and clients on its database, and a watch on its mounts."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, Final

from sandbox.cloud.daemon import CALL_LOG
from sandbox.settings import CONFIG_VARIABLE, HOME_VARIABLE, STACK, SandboxSettings, load_settings
from sandbox.stack import stack_file
from tools.faults.clients import Clients
from tools.faults.model import State
from tools.faults.mount_watch import MountWatch, sampler
from tools.faults.routed import Routed
from tools.faults.stack_settings import with_server
from tools.faults.writer import Served, Writer
from tools.histories.statements import STATEMENTS, Statements
from tools.trial.ground import Ground
from tools.trial.instances import kill_inside, node_plugins, pid_inside
from tools.trial.running import Running, ended_well, eventually
from tools.trial.servers import MYSQL, Server

CLIENTS: Final = ("client-1", "client-2", "client-3")
PLUGIN: Final = "aws-ebs0"
UP_TIMEOUT_S: Final = 600.0
HEALTH_TIMEOUT_S: Final = 180.0
_ALL_CREATED: Final = re.compile(r"^up: stack: \w+: \d+ create \([\d.]+ s\)$", re.MULTILINE)


@dataclass
class Doing:
    """What a lane is busy with: since when (monotonic), and after how many seconds it gives up (0: it does not)."""

    what: str
    timeout_s: float = 0
    since: float = field(default_factory=time.monotonic)


class Lane:
    """What a fault works on. What commands print is captured; their exit code is the caller's business."""

    def __init__(
        self, number: int, options: list[str], stack: Running, database: Served, mounts: MountWatch, folder: Path
    ) -> None:
        self.number = number
        self.up_words = ["up", *options]
        """The words of `python -m sandbox` that bring sandbox and stack up."""
        self.destroy_words = ["down", "--keep-sandbox"]
        """The words of `python -m sandbox` that destroy the stack alone."""
        self.stack = stack
        self.database = database
        """Where the writer writes."""
        self.histories = folder / "histories"
        """Where what clients saw is written down."""
        self.writer = Writer(database, self.histories, clients=Clients(database.connected, self.sql))
        self.mounts = mounts
        self.logs = folder / "logs"
        """Where commands that are started leave their output."""
        self.problems: list[str] = []
        """Broken promises that a fault has found, whose run goes on to what is checked after every run."""
        self.state: State = "empty"
        """What there is of the stack between two runs."""
        self.doing = Doing("nothing yet")
        self.injected_at = 0.0
        """When the fault struck (monotonic): `injected` sets it, else it is the start of the run."""
        self.typical_s = {"up": 30.0, "change": 14.0, "destroy": 12.0}
        """How long the command takes, uninterrupted: as last measured here."""
        self.without: frozenset[int] = frozenset()
        """Numbers of the changes of a sequence that are left out, to find out which of them break something."""
        self._started: list[subprocess.Popen[bytes]] = []

    @property
    def server(self) -> Server:
        """The database server of its stack."""
        return self.stack.server

    @property
    def sql(self) -> Statements:
        """What clients ask it for."""
        return STATEMENTS[self.server.name]

    @property
    def stack_file(self) -> Path:
        """The stack's configuration."""
        return self.stack.project / f"Pulumi.{STACK}.yaml"

    @property
    def settings(self) -> SandboxSettings:
        """The settings of the lane's sandbox."""
        return settings_of(self.stack)

    @property
    def newest_log(self) -> Path:
        """The output of the command that was started last."""
        return max(self.logs.glob("*.log"))

    @property
    def call_log(self) -> Path:
        """The record of the calls to AWS."""
        return self.settings.log_dir / CALL_LOG

    @contextlib.contextmanager
    def waits(self, what: str, timeout_s: float) -> Iterator[None]:
        """Says, to whoever watches, what the lane waits for and when it would give up."""
        outer, self.doing = self.doing, Doing(what, timeout_s)
        try:
            yield
        finally:
            self.doing = outer

    def injected(self) -> None:
        """The fault struck just now: from here the recovery is timed."""
        self.injected_at = time.monotonic()

    def up(self, **env: str) -> CompletedProcess[str]:
        """`python -m sandbox up`, with more variables in its environment."""
        began = time.monotonic()
        done = self._sandbox(self.up_words, env)
        if _ALL_CREATED.search(done.stderr):
            self.typical_s["up"] = time.monotonic() - began
        return done

    def destroy(self, **env: str) -> CompletedProcess[str]:
        """`python -m sandbox down --keep-sandbox`: what `make down` does to the stack."""
        return self._sandbox(self.destroy_words, env)

    def pulumi(self, *words: str, timeout_s: float = UP_TIMEOUT_S, **env: str) -> CompletedProcess[str]:
        """`pulumi …` as a person runs it in the sandbox's environment."""
        with self.waits(f"pulumi {words[0]} ends", timeout_s):
            return self.stack.run("pulumi", *words, "--non-interactive", timeout_s=timeout_s, more_env=env)

    def start(self, *command: str, **env: str) -> subprocess.Popen[bytes]:
        """A command in a process group of its own, to be killed; its output goes to a file under `logs`."""
        path = self.logs / f"{len(self._started) + 1:03d}-{Path(command[0]).name}.log"
        with path.open("wb") as output:
            process = subprocess.Popen(
                command,
                cwd=self.stack.project,
                env={**self.stack.env, **env},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._started.append(process)
        return process

    def inside(self, client: str, *command: str) -> CompletedProcess[str]:
        """A command inside an instance."""
        return self.stack.try_ctl("enter", client, *command)

    def pid_inside(self, client: str, pattern: str) -> int:
        """The oldest process of an instance whose command line matches; 0 if none."""
        return pid_inside(self.stack, client, pattern)

    def kill_inside(self, client: str, pid: int) -> None:
        """kill -9 of a process of an instance, by the instance's own numbering."""
        kill_inside(self.stack, client, pid)

    def operate(self, *words: str, timeout_s: float = UP_TIMEOUT_S) -> CompletedProcess[str]:
        """`nomad-stateful …` as an operator runs it."""
        with self.waits(f"operate {words[0]} ends", timeout_s):
            return self.stack.run(self.stack.python, "-m", "nomad_stateful.operate", *words, timeout_s=timeout_s)

    def setting(self, path: str) -> str:
        """The value of a setting in the stack's file; empty where it has none. Raises AssertionError."""
        done = self.pulumi("config", "get", "--path", path)
        missing = done.returncode and f"key '{path.partition(':')[2]}' not found" in done.stdout + done.stderr
        return "" if missing else ended_well(done).stdout.strip()

    def set(self, path: str, value: str) -> None:
        """Gives a setting in the stack's file another value, for the next `up`; an empty one takes it out."""
        ended_well(self.pulumi("config", *(("set", "--path", path, value) if value else ("rm", "--path", path))))

    def resources(self) -> list[dict[str, Any]]:
        """The resources in the stack's state."""
        done = ended_well(self.pulumi("stack", "export"))
        return list(json.loads(done.stdout)["deployment"].get("resources") or [])

    def await_plugins(self, timeout_s: float = HEALTH_TIMEOUT_S) -> None:
        """Waits until every client is ready and its node plugin healthy: only then can Nomad release its claims."""
        what = "every client ready with a healthy node plugin"
        with self.waits(what, timeout_s):
            eventually(
                lambda: node_plugins(self.stack, PLUGIN) == len(CLIENTS) or None,
                timeout_s,
                what,
                self.stack.diagnosis,
            )

    def await_writes(self, timeout_s: float = HEALTH_TIMEOUT_S) -> None:
        """Waits until the database acknowledges new commits."""
        with self.waits(f"{self.server.title} acknowledges new commits", timeout_s):
            self.writer.await_new(3, timeout_s)

    def close(self) -> None:
        """Ends the writer, the watch, and what was started and still runs."""
        self.writer.end()
        self.mounts.end()
        for process in self._started:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _sandbox(self, words: list[str], env: dict[str, str]) -> CompletedProcess[str]:
        with self.waits(f"python -m sandbox {' '.join(words)} ends", UP_TIMEOUT_S):
            command = (self.stack.python, "-m", "sandbox", *words)
            return self.stack.run(*command, timeout_s=UP_TIMEOUT_S, more_env=env)


def settings_of(stack: Running) -> SandboxSettings:
    """The settings of a sandbox that a test runs."""
    return load_settings({HOME_VARIABLE: f"{stack.project}/.sandbox", CONFIG_VARIABLE: f"{stack.project}/sandbox.toml"})


def addresses(settings: SandboxSettings) -> dict[str, str]:
    """The clients' addresses by their names."""
    return {spec.name: str(settings.instance_address(spec)) for spec in settings.instances}


@contextlib.contextmanager
def open_lane(
    number: int,
    ground: Ground,
    folder: Path,
    official: Path | None = None,
    server: Server = MYSQL,
    more_images: Sequence[str] = (),
) -> Iterator[Lane]:
    """A lane on a sandbox of its own without a stack; the sandbox is gone when the lane is left.

    The sandbox has the images that the stack's file names, and more. Raises AssertionError when it does not come up.
    """
    project = folder / "project"
    project.mkdir(parents=True)
    (folder / "logs").mkdir()
    options = ["--official", str(official)] if official else []
    prepared = Running.prepare(project, ground)
    prepared.server = server
    with_server(project / f"Pulumi.{STACK}.yaml", server, ground.zones)
    named = [*stack_file.images(project / f"Pulumi.{STACK}.yaml"), *more_images]
    images = [word for image in named for word in ("--image", image)]
    with prepared.up(*options, *images, "--no-stack") as stack:
        hosts = list(addresses(settings_of(stack)).values())
        database = Routed(stack.nomad, server, hosts=hosts) if server.members > 1 else Served(stack.nomad, server)
        lane = Lane(number, options, stack, database, MountWatch(sampler(settings_of(stack))), folder)
        lane.mounts.begin()
        try:
            yield lane
        finally:
            lane.close()
