"""The tasks of a drill with binary logs, run on a copy of a server's data."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql

from nomad_stateful.databases.mysql.operations import DRILL
from nomad_stateful.databases.mysql.server import socket_client
from nomad_stateful.operate.point_in_time import replay as replays
from nomad_stateful.operate.point_in_time.replay import COPY, add_logs
from tests.mysql.place import DATA, Place, Task, place, server_task, words_of
from tests.ports import unused_port
from tests.providers.moto_account import environment, moto
from tests.unit.agent.world import BUCKET, client_of, emptied

OPTIONS = ("--gtid-mode=ON", "--enforce-gtid-consistency=ON")
DRILLS_PASSWORD = "of-the-drill"


def data(place: Place) -> Path:
    return place.root / DATA.lstrip("/")


@dataclass(frozen=True)
class Restored:
    """What a drill's check said, and the server that it checked."""

    lines: list[str]
    place: Place

    def said(self, kind: str) -> list[str]:
        return [line.split("\t", 2)[2] for line in self.lines if line.startswith(f"drill\t{kind}\t")]

    @property
    def is_done(self) -> bool:
        return self.lines[-1:] == ["drill\tdone"]

    def rows(self) -> list[int]:
        with (
            pymysql.connect(
                host="127.0.0.1", port=self.place.port, user="root", password=DRILLS_PASSWORD
            ) as connection,
            connection.cursor() as cursor,
        ):
            cursor.execute("SELECT id FROM shop.orders ORDER BY id")
            return [int(row[0]) for row in cursor.fetchall()]


@contextmanager
def restored(
    image: Path,
    nomad: Path,
    folder: Path,
    found: replays.Replay,
    snapshot: Path,
    bucket: Mapping[str, bytes],
    *options: str,
) -> Iterator[Restored]:
    """Runs the three tasks of a drill's job with logs, on a copy of the data."""
    with place(image, folder / "drill", unused_port()) as made:
        subprocess.run(["cp", "-a", "--no-target-directory", str(snapshot), str(data(made))], check=True)
        (made.root / "alloc/data").mkdir(parents=True)
        fetch, server, check = tasks(server_task(nomad, *OPTIONS, *options), found)
        made.put(Task({**server.files, **check.files}, (), {}), {"root_password": DRILLS_PASSWORD})
        fetched(made, fetch, bucket)
        process = made.start(server)
        answer = made.run(check)
        assert process.poll() is None, made.log.read_text()[-3000:]
        yield Restored(answer.stdout.splitlines() + answer.stderr.splitlines(), made)


def fetched(made: Place, arguments: list[str], bucket: Mapping[str, bytes]) -> None:
    """Runs the agent's command on the folders of a place, with what S3 has."""
    with moto() as url:
        s3 = emptied(client_of(url))
        for key, content in bucket.items():
            s3.put_object(Bucket=BUCKET, Key=key, Body=content)
        words = [re.sub(r"(?<==)/(alloc|srv)/", rf"{made.root}/\1/", word) for word in arguments]
        command = [sys.executable, "-m", "nomad_stateful.agent", *words]
        env = {**environment(url), "PATH": os.environ["PATH"]}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    index = made.root / "alloc/data/replay/relay.index"
    index.write_text(index.read_text().replace(str(made.root), ""))


def tasks(server: Task, found: replays.Replay) -> tuple[list[str], Task, Task]:
    """The drill's tasks as Nomad would run them: what the agent fetches, the server, and what checks it."""
    env = dict(server.env)
    copier = {
        "Name": COPY,
        "Driver": "docker",
        "Config": {"args": ["binlogs", f"--bucket={BUCKET}", "--prefix="]},
        "Env": {},
        "Resources": {"MemoryMB": 1},
    }
    command, *args = server.words
    job: dict[str, Any] = {
        "TaskGroups": [
            {
                "Tasks": [
                    {"Name": "mysql", "Config": {"command": command, "args": args}, "Env": env, "VolumeMounts": []},
                    {"Name": "check", "Env": {"TLS_MYSQL": "--ssl-mode=DISABLED", "DRILL_PATIENCE": "120"}},
                ]
            }
        ]
    }
    add_logs(job, {"ID": "mysql-server", "TaskGroups": [{"Tasks": [copier]}]}, found)
    fetch, runs, checks = job["TaskGroups"][0]["Tasks"]
    login = socket_client("/alloc/mysql/mysql.sock", "root", DRILLS_PASSWORD).files
    of_check = {"local/drill.sh": DRILL.script, **{f"secrets/{name}": text for name, text in login.items()}}
    return (
        in_the_allocation(fetch["Config"]["args"]),
        Task(server.files, in_the_allocation(words_of(runs["Config"])), env),
        Task(of_check, ("sh", "/local/drill.sh"), {**checks["Env"], "NOMAD_ALLOC_DIR": "/alloc"}),
    )


def in_the_allocation(words: list[str]) -> list[str]:
    return [word.replace("${NOMAD_ALLOC_DIR}", "/alloc") for word in words]
