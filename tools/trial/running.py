"""A sandbox of the tests' own, in a copy of the project, so that a developer's sandbox and files stay untouched."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import boto3

from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.running_job import Endpoint, endpoint
from sandbox.machine import processes
from tools.toolchain.provide import MODE_VARIABLE, NOMAD_VARIABLE
from tools.trial.ground import Ground, claim
from tools.trial.members import is_primary
from tools.trial.servers import MYSQL, Server

PROJECT = Path(__file__).parents[2]
# How a Go program's last words begin.
_CRASH = ("panic:", "fatal error:", "SIG", "unexpected fault")
# Of a command in a task, and how often it is run until that is seen.
_LAST_LINE, _TRIES = "the command has ended", 5
T = TypeVar("T")


def copy_project(target: Path) -> None:
    """The files git knows or would add, and the virtual environment by a link."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in listed.stdout.split("\0"):
        source = PROJECT / name
        if source.is_file() or source.is_symlink():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name, follow_symlinks=False)
    (target / ".venv").symlink_to(PROJECT / ".venv")


def eventually(
    probe: Callable[[], T | None], timeout_s: float, what: str, diagnosis: Callable[[], str] = lambda: ""
) -> T:
    """The probe's first result that is not None; fails the test at the deadline, with the diagnosis."""
    deadline = time.monotonic() + timeout_s
    while True:
        found = probe()
        if found is not None:
            return found
        if time.monotonic() >= deadline:
            raise AssertionError(f"not after {timeout_s} s: {what}\n{diagnosis()}")
        time.sleep(0.2)


def ended_well(done: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    """What a command gave, whose status is 0. Raises AssertionError with its output."""
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@dataclass
class Running:
    """A sandbox that is up, and the ways to look at it."""

    project: Path
    env: dict[str, str]
    ground: Ground
    server: Server = MYSQL
    """That the stack has."""
    password: str = ""
    """Its superuser's, once a statement was run."""

    @classmethod
    def prepare(cls, project: Path, ground: Ground | None = None) -> "Running":
        ground = ground or claim()
        copy_project(project)
        return cls.of(project, ground)

    @classmethod
    def of(cls, project: Path, ground: Ground) -> "Running":
        """For a folder that has the files already."""
        (project / "sandbox.toml").write_text(ground.config)
        # The sandbox the developer may have must not shine through.
        hidden, kept = ("AWS_", "NOMAD_", "PULUMI_", "PYTHONPATH"), (MODE_VARIABLE, NOMAD_VARIABLE)
        env = {key: value for key, value in os.environ.items() if key in kept or not key.startswith(hidden)}
        return cls(project, env, ground)

    @contextmanager
    def up(self, *words: str) -> Iterator["Running"]:
        """While the sandbox is up and its environment entered; it goes down also when coming up failed."""
        try:
            ended_well(self.sandbox("up", *words))
            self.enter_env()
            yield self
            self.refuse_dead_server()
        finally:
            self.close()
            self.sandbox("down", "--force")

    @property
    def python(self) -> str:
        return str(self.project / ".venv/bin/python")

    def sandbox(self, *arguments: str, timeout_s: float = 900) -> subprocess.CompletedProcess[str]:
        """`python -m sandbox …`."""
        return self.run(self.python, "-m", "sandbox", *arguments, timeout_s=timeout_s)

    def run(
        self, *command: str, timeout_s: float = 300, more_env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """A command in the project's folder; its output is captured, its exit code is the caller's business."""
        return subprocess.run(
            command,
            cwd=self.project,
            env={**self.env, **(more_env or {})},
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    @property
    def management_token(self) -> str:
        """The token of Nomad that may do everything, as entering a task asks for."""
        return (self.project / ".sandbox/nomad/management.token").read_text().strip()

    def in_task(self, allocation_id: str, *command: str, task: str = "") -> subprocess.CompletedProcess[str]:
        """A command inside a task, which may run twice; an allocation with one task needs no name of it.

        Nomad may lose what a container's command has said that ends at once (2 of 150), so it ends a little later, and
        without the last line it is run again.
        """
        words = ("-task", task, allocation_id) if task else (allocation_id,)
        entering = ("nomad", "alloc", "exec", "-i=false", "-t=false", *words)
        later = ("sh", "-c", '"$@"; status=$?; echo "$0"; sleep 0.1; exit "$status"', _LAST_LINE)
        for _ in range(_TRIES):
            done = self.run(*entering, *later, *command, more_env={"NOMAD_TOKEN": self.management_token})
            said, last, _rest = done.stdout.rpartition(f"{_LAST_LINE}\n")
            if last:
                done.stdout = said
            if last or done.returncode:
                break
        return done

    def enter_env(self) -> None:
        """From now on commands see what `source .sandbox/env` gives a person."""
        shell = ended_well(self.run("sh", "-c", ". .sandbox/env && env -0"))
        self.env = dict(line.split("=", 1) for line in shell.stdout.split("\0") if "=" in line)

    def ctl(self, *words: str) -> str:
        """What `python -m sandbox ctl` prints, by which instances are cut off, healed, told and made to fail."""
        return ended_well(self.try_ctl(*words)).stdout

    def try_ctl(self, *words: str) -> subprocess.CompletedProcess[str]:
        """`python -m sandbox ctl …`; its exit code is the caller's business."""
        return self.sandbox("ctl", *words, timeout_s=300)

    def close(self) -> None:
        """Closes the connections."""
        for name in ("nomad", "ec2"):
            if name in self.__dict__:
                self.__dict__.pop(name).close()

    def refuse_dead_server(self) -> None:
        """Fails with the Nomad server's last words where it ended by itself: its log goes with the sandbox."""
        home = self.project / ".sandbox"
        dead = [file for file in (home / "run").glob("nomad-server*.pid") if not processes.is_alive(file)]
        for pid_file in dead:
            lines = (home / f"log/{pid_file.stem}.log").read_text(errors="replace").splitlines()
            crash = next((number for number, line in enumerate(lines) if line.startswith(_CRASH)), len(lines))
            last = "\n".join(lines[max(crash - 20, 0) : crash + 60])
            raise AssertionError(f"{pid_file.stem} has ended:\n{last}")

    def outputs(self) -> dict[str, Any]:
        """The stack's outputs, secrets in clear."""
        done = self.run("pulumi", "stack", "output", "--json", "--show-secrets")
        assert done.returncode == 0, done.stderr
        return dict(json.loads(done.stdout))

    @cached_property
    def nomad(self) -> NomadApi:
        return NomadApi.from_env({"token": self.env.get("NOMAD_OPERATOR_TOKEN", "")}, self.env)

    @cached_property
    def ec2(self) -> Any:
        return self.aws("ec2")

    def attached_policies(self, role: str) -> list[dict[str, Any]]:
        """The documents of the managed policies of a role, as IAM has them."""
        iam = self.aws("iam")
        arns = [one["PolicyArn"] for one in iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"]]
        versions = {arn: iam.get_policy(PolicyArn=arn)["Policy"]["DefaultVersionId"] for arn in arns}
        found = [iam.get_policy_version(PolicyArn=arn, VersionId=version) for arn, version in versions.items()]
        iam.close()
        return [one["PolicyVersion"]["Document"] for one in found]

    def aws(self, service: Any, region: str = "") -> Any:
        """A client of a service of AWS, in the sandbox's region where no other is named."""
        return boto3.client(
            service,
            endpoint_url=self.env["AWS_ENDPOINT_URL"],
            region_name=region or self.env["AWS_REGION"],
            aws_access_key_id=self.env["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=self.env["AWS_SECRET_ACCESS_KEY"],
        )

    def server_endpoint(self, not_allocation: str = "", timeout_s: float = 120) -> Endpoint:
        """Where the database runs, or the primary of its group, once it runs (in another allocation than one given)."""
        jobs = self.server.member_jobs

        def probe() -> Endpoint | None:
            for job in jobs:
                found = endpoint(self.nomad, job, "default", self.server.name, "db")
                if found and found.allocation_id != not_allocation and (len(jobs) == 1 or is_primary(found.host)):
                    return found
            return None

        return eventually(probe, timeout_s, f"a running allocation of {' or '.join(jobs)}", self.diagnosis)

    def diagnosis(self) -> str:
        """What a person would look at when the database does not run."""
        of_server = (*(f"job status {job}" for job in self.server.member_jobs), f"volume status {self.server.volume}")
        commands = (*of_server, "node status", "plugin status aws-ebs0")
        shown = [self.run("nomad", *command.split()).stdout for command in commands]
        for log in sorted((self.project / ".sandbox/log").glob("nomad-server*.log")):
            lines = log.read_text(errors="replace").splitlines()
            shown += [log.stem, *[line for line in lines if "[INFO]" not in line][-30:]]
        return "\n\n".join(shown)

    def sql(self, at: Endpoint, *statements: str, timeout_s: float = 60) -> list[tuple[Any, ...]]:
        """Runs statements, committed, once the server takes a login; the last one's rows."""
        output = f"{self.server.name}Password"
        self.password = self.password or self.outputs()[output]

        def probe() -> list[tuple[Any, ...]] | None:
            try:
                connection = self.server.login(at.host, at.port, self.password, autocommit=True)
            except self.server.errors as error:
                if self.server.code(error) == self.server.wrong_password:
                    self.password = self.outputs()[output]
                return None
            with closing(connection), closing(connection.cursor()) as cursor:
                for statement in statements:
                    cursor.execute(statement)
                return [tuple(row) for row in cursor.fetchall()] if cursor.description else []

        return eventually(probe, timeout_s, f"a login to {self.server.title} at {at.host}:{at.port}")


def traces(name: str, home: Path) -> dict[str, list[str]]:
    """What a sandbox of that name and home has on this machine, by kind."""

    def lines(*command: str) -> list[str]:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()

    return {
        "loop devices": [line for line in lines("losetup", "-a") if str(home) in line],
        "mounts": [line for line in lines("mount") if str(home) in line],
        "links": [line for line in lines("ip", "-o", "link") if f" {name}-" in line],
        "processes": [line for line in lines("ps", "-eo", "pid,args") if str(home) in line],
        "files": [str(path) for path in home.rglob("*")] if home.exists() else [],
    }
