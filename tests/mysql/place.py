"""A task's root folder over an image's, and the files that a job file gives the task."""

from __future__ import annotations

import contextlib
import re
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pymysql

from nomad_stateful import jobspec as jobs
from nomad_stateful.components import job_variables
from nomad_stateful.databases.catalogue import DATABASES
from nomad_stateful.databases.model import Database
from nomad_stateful.nomad.job_rendering import render

DATA = "/srv/mysql"
ROOT_PASSWORD = "root-pass-word"
# What a container has: processes, mounts and loopback of its own. They end with the first of its processes.
_CONTAINER = ("unshare", "--mount", "--pid", "--fork", "--kill-child")
_ENTER = 'root=$1; shift; mount --rbind /dev "$root/dev"; mount -t proc proc "$root/proc"; exec chroot "$root" "$@"'


@dataclass(frozen=True)
class Task:
    """A task as Nomad would run it."""

    files: Mapping[str, str]
    words: Sequence[str]
    env: Mapping[str, str]
    scripts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What Nomad runs in the container where a file was written anew, by the file: its words are taken as they are."""


def task(nomad: Path, spec: str, name: str, variables: Mapping[str, object]) -> Task:
    """The task of a job file, with what Nomad makes of its example values and others.

    A database's server is that of its component, by the database's name, with other inputs of it.
    """
    example = [f"-var-file={jobs.FOLDER / f'{spec}.vars.hcl'}"]
    if spec in DATABASES:
        spec, example, variables = "database", [], server_variables(DATABASES[spec], **variables)
    more = [f"-var={key}={jobs.hcl_value(value)}" for key, value in variables.items()]
    text = (jobs.FOLDER / f"{spec}.nomad.hcl").read_text(encoding="utf-8")
    (group,) = render(nomad, text, {}, *example, *more)["TaskGroups"]
    found = next(one for one in group["Tasks"] if one["Name"] == name)
    mounts = {one["source"]: one["target"] for one in found["Config"].get("mount") or []}
    files = {_mounted(one["DestPath"], mounts): one["EmbeddedTmpl"] for one in found["Templates"] or []}
    scripts = {
        one["DestPath"]: [one["ChangeScript"]["Command"], *one["ChangeScript"]["Args"]]
        for one in found["Templates"] or []
        if one["ChangeScript"]
    }
    return Task(files, words_of(found["Config"]), found["Env"] or {}, scripts)


def server_variables(kind: Database, **changes: Any) -> dict[str, Any]:
    """The variables of a server's job by its component's inputs; tls says whether there is a certificate and a ca."""
    tls = {"mode": "preferred", "certificate": False, "ca": False, **changes.pop("tls", {})}
    certificate = {"certificate": "c", "key": "k", "ca": "a" if tls["ca"] else None} if tls["certificate"] else None
    task = {"image": kind.image, "command": "docker-entrypoint.sh", "args": [], "user": "", "uid": kind.uid}
    args: Any = {
        "job_id": f"{kind.name}-server",
        "placement": {"namespace": "default", "datacenters": ["*"], "node_pool": "default"},
        "access_mode": "single-node-writer",
        "mount_path": "/srv",
        "data_dir": f"/srv/{kind.name}",
        "port": kind.port,
        "task": {**task, "kill_timeout": "30s", "cpu_mhz": 500, "memory_mib": 1024},
        "service": {"provider": "nomad", "check_interval": "10s", "check_timeout": "2s"},
        "restart": {"attempts": 10, "interval": "5m", "delay": "25s"},
        "config": {},
        "init_scripts": {},
        "databases": [],
        "accounts": [],
        "timeout_s": 300,
        **changes,
        "tls": {"mode": tls["mode"], "certificate": certificate},
    }
    made = job_variables.database(kind, args)
    return {**made, "volume": {"id": kind.name, "release": "by-hand", **made["volume"]}}


def words_of(config: Mapping[str, Any]) -> list[str]:
    """What a container runs, which the image's entrypoint leaves as it is."""
    return [*filter(None, [config.get("command")]), *(config.get("args") or [])]


def _mounted(path: str, mounts: Mapping[str, str]) -> str:
    folder, _, name = path.rpartition("/")
    return f"{mounts[folder].lstrip('/')}/{name}" if folder in mounts else path


FOLDERS = {"NOMAD_TASK_DIR": "/local", "NOMAD_SECRETS_DIR": "/secrets", "NOMAD_ALLOC_DIR": "/alloc"}
"""Where a task has its own and its allocation's files."""


def rendered(text: str, known: Mapping[str, str]) -> str:
    """A Nomad template of the job files: items of the job's variable, the service's address, and folders."""
    shown = re.sub(r"{{ \.(\w+) }}", lambda found: known[found[1]], text)
    shown = re.sub(r'{{ env "(\w+)" }}', lambda found: FOLDERS[found[1]], shown)
    return re.sub(r"{{ (with (nomadVar|nomadService|index) [^}]*|end) }}", "", shown)


@dataclass
class Place:
    """A root folder, over that of an image, which it leaves as it is."""

    image: Path
    root: Path
    port: int
    log: Path
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def put(self, found: Task, secrets: Mapping[str, str]) -> None:
        """Writes the task's files where Nomad would."""
        places = {"${NOMAD_SECRETS_DIR}": "secrets", "${NOMAD_TASK_DIR}": "local"}
        for destination, text in found.files.items():
            path = self.root / re.sub(r"\$\{\w+\}", lambda name: places[name[0]], destination)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(rendered(text, secrets))
            path.chmod(0o755 if path.parent.name == "local" else 0o444)

    def words(self, found: Task, more_env: Mapping[str, str]) -> list[str]:
        """The command that runs the task in this root."""
        known = {**FOLDERS, "NOMAD_PORT_db": str(self.port)}
        filled = [_filled(text, known) for text in found.words]
        env = {**FOLDERS, **{name: _filled(value, known) for name, value in found.env.items()}, **more_env}
        path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        settings = [f"{name}={value}" for name, value in env.items()]
        enter = [*_CONTAINER, "sh", "-ec", _ENTER, "enter", str(self.root)]
        return [*enter, "env", "-i", path, *settings, *filled]

    def start(self, found: Task, **more_env: str) -> subprocess.Popen[bytes]:
        """Starts the task as in a new container; what it says goes to the log."""
        for run in ("tmp", "run/mysqld", "var/run/mysqld"):
            for left in (self.root / run).glob("*"):
                subprocess.run(["rm", "-rf", str(left)], check=True)
        with self.log.open("ab") as log:
            process = subprocess.Popen(self.words(found, more_env), stdout=log, stderr=log, start_new_session=True)
        self.started.append(process)
        return process

    def run(self, found: Task, **more_env: str) -> subprocess.CompletedProcess[str]:
        """Runs a task to its end."""
        return subprocess.run(self.words(found, more_env), capture_output=True, text=True, check=False, timeout=300)


def _filled(text: str, known: Mapping[str, str]) -> str:
    return re.sub(r"\$\{(\w+)\}", lambda name: known[name[1]], text)


@contextlib.contextmanager
def place(image: Path, folder: Path, port: int) -> Iterator[Place]:
    """A root folder over the image's, gone with all its processes at the end."""
    layers = {name: folder / name for name in ("upper", "work", "root")}
    for layer in layers.values():
        layer.mkdir(parents=True)
    options = f"lowerdir={image},upperdir={layers['upper']},workdir={layers['work']}"
    subprocess.run(["mount", "-t", "overlay", "-o", options, "overlay", str(layers["root"])], check=True)
    made = Place(image, layers["root"], port, folder / "log")
    try:
        for inside in ("dev", "proc", "local", "secrets", "alloc", "srv", "dumps", "docker-entrypoint-initdb.d"):
            (made.root / inside).mkdir(exist_ok=True)
        yield made
    finally:
        for process in made.started:
            stop(process, kill=True)
        subprocess.run(["umount", str(layers["root"])], check=True)


def stop(process: subprocess.Popen[bytes], *, kill: bool = False) -> int:
    """Ends a task, cleanly or in the middle of what it does; returns once none of its processes is left."""
    if process.poll() is None:
        # Its first process is the child of unshare, which hands no signal on.
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        signal = "-KILL" if kill else "-TERM"
        subprocess.run(["kill", signal, *(children or [str(process.pid)])], check=False, capture_output=True)
    return process.wait(timeout=120)


def server_task(nomad: Path, *options: str, **variables: Any) -> Task:
    """The server's task, with more options of the server."""
    found = task(nomad, "mysql", "mysql", variables)
    return replace(found, words=[*found.words, *options])


def query(place: Place, *statements: str) -> tuple[tuple[Any, ...], ...]:
    with (
        pymysql.connect(
            host="127.0.0.1", port=place.port, user="root", password=ROOT_PASSWORD, autocommit=True, connect_timeout=5
        ) as connection,
        connection.cursor() as cursor,
    ):
        for statement in statements:
            cursor.execute(statement)
        return tuple(cursor.fetchall())


def until_it_answers(place: Place, process: subprocess.Popen[bytes], timeout_s: float = 180) -> None:
    """Returns once root can log in over the network, which is when Nomad's check passes."""
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            query(place, "SELECT 1")
            return
        except pymysql.err.OperationalError:
            assert process.poll() is None, place.log.read_text()[-3000:]
            assert time.monotonic() < deadline, place.log.read_text()[-3000:]
        time.sleep(0.05)
