"""The tasks beside MySQL that close and copy its binary logs, by their own scripts, with stubs of mysql and aws."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.mysql import fake_s3
from tests.mysql.place import rendered, task

SERVER = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
START = 1_795_392_000
BUCKET, FOLDER = "logs", "db/binlogs/"
_TIMEOUT_S = 30.0


def shown(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def key(number: int, name: str = "binlog") -> str:
    """A log's object, below FOLDER."""
    began = datetime.fromtimestamp(START + number, UTC)
    return f"{began:%Y%m%dT%H%M%SZ}-{name}.{number:06d}"


@dataclass
class Sidecars:
    """Folders as an allocation has them, and what the stubs answer from."""

    folder: Path
    scripts: dict[str, str]
    moments: Iterator[datetime] = field(
        default_factory=lambda: (datetime.now(UTC) + timedelta(seconds=n) for n in range(-1000, 0))
    )

    def __post_init__(self) -> None:
        for name in ("data", "alloc/data", "bin", "s3", "secrets"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self.stub("aws", f'exec {sys.executable} -S {fake_s3.__file__} "{self.folder}/s3" "$@"')
        # Pauses that take no time to speak of.
        self.stub("sleep", "exec /bin/sleep 0.05")
        self.index(1)

    def stub(self, name: str, body: str) -> None:
        path = self.folder / "bin" / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    @contextmanager
    def runs(self, script: str, allocation: str = "one") -> Iterator[None]:
        """While the task runs; what it says goes to its log."""
        local = self.folder / f"local-{script}-{allocation}"
        local.mkdir(exist_ok=True)
        env = {
            "PATH": f"{self.folder}/bin:{os.environ['PATH']}",
            "NOMAD_TASK_DIR": str(local),
            "NOMAD_ALLOC_DIR": str(self.folder / "alloc"),
            "NOMAD_SECRETS_DIR": str(self.folder / "secrets"),
            "NOMAD_ALLOC_ID": allocation,
            "AWS_ENDPOINT_URL_S3": "",
            "BUCKET": BUCKET,
            "PREFIX": FOLDER,
            "LARGEST_PUT": str(fake_s3.LARGEST),
            "PART_MIB": "1",
        }
        words = ["sh", "-c", self.scripts[script]]
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(words, env=env, stdout=log, stderr=log)
        try:
            yield
            assert process.poll() is None, self.log
        finally:
            process.kill()
            process.wait()

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    def await_(self, probe: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + _TIMEOUT_S
        while not probe():
            assert time.monotonic() < deadline, f"not: {what}\n{self.log}\n{sorted(self.stored)}"
            time.sleep(0.02)

    def says(self, words: str, count: int = 1) -> None:
        self.await_(lambda: self.log.count(words) >= count, words)

    def write(self, number: int, size: int = 100) -> None:
        """A log of the server, sparse, as large as is wanted."""
        with (self.folder / f"data/binlog.{number:06d}").open("wb") as log:
            log.write(b"\xfebin" + struct.pack("<I", START + number))
            log.truncate(size)

    def index(self, first: int, last: int | None = None) -> None:
        """The logs that the server lists; the last one is open."""
        names = [f"./binlog.{number:06d}\n" for number in range(first, (last or first) + 1)]
        path = self.folder / "data/binlog.index"
        path.with_suffix(".new").write_text("".join(names))
        path.with_suffix(".new").rename(path)

    def serve(self, first: int, last: int) -> None:
        """Writes logs, and lists them."""
        for number in range(first, last + 1):
            if not (self.folder / f"data/binlog.{number:06d}").exists():
                self.write(number)
        self.index(first, last)

    def remove(self, first: int, last: int) -> None:
        for number in range(first, last + 1):
            (self.folder / f"data/binlog.{number:06d}").unlink()

    def close(self, server: str = SERVER) -> str:
        """Says that everything is closed until a moment, as the other task does; returns it."""
        moment = shown(next(self.moments))
        path = self.folder / "alloc/data/closed"
        path.with_suffix(".new").write_text(f"{moment} {server}\n")
        path.with_suffix(".new").rename(path)
        return moment

    @property
    def bucket(self) -> Path:
        return self.folder / "s3"

    @property
    def stored(self) -> dict[str, int]:
        """Sizes of the logs in S3 by key, below FOLDER."""
        found = {name.removeprefix(FOLDER): size for name, size in fake_s3.objects(self.bucket).items()}
        return {name: size for name, size in found.items() if name != "until"}

    @property
    def until(self) -> str:
        path = fake_s3.path_of(self.bucket, f"{FOLDER}until")
        return path.read_text() if path.exists() else ""

    def put(self, name: str, content: bytes) -> None:
        fake_s3.path_of(self.bucket, FOLDER + name).write_bytes(content)

    def reaches(self, moment: str) -> None:
        self.await_(lambda: self.until.partition("\n")[0] == moment, f"until {moment}")

    def copies(self, *numbers: int) -> None:
        self.await_(lambda: {key(number) for number in numbers} <= set(self.stored), f"{numbers} are copied")

    @property
    def uploads(self) -> list[str]:
        """Uploads in parts that have neither ended nor been given up."""
        return [path.name for path in self.bucket.glob(".upload-*")]

    def fault(self, verb: str, code: str = "") -> None:
        """Has S3 refuse a request from now on, after what it would have done; "" has it work again."""
        (self.bucket / f".fault-{verb}").write_text(code)


def scripts(nomad: Path, folder: Path) -> dict[str, str]:
    """Both tasks' scripts for a data directory, by the tasks' names."""
    server = {"driver": "exec", "image": "", "command": "x", "user": "", "uid": 999, "kill_timeout": "60s"}
    where = {"bucket": BUCKET, "prefix": "db/", "region": "us-west-2", "endpoint": "", "image": "", "memory_mib": 64}
    variables = {
        "task": {**server, "args": [f"--datadir={folder}/data"], "cpu_mhz": 500, "memory_mib": 1024},
        "binlogs": {**where, "account": "binlogs", "interval_s": 30},
    }
    found = {}
    for name, script in (("binlog-close", "local/close.sh"), ("binlog-copy", "local/copy.sh")):
        found[name] = rendered(task(nomad, "mysql", name, variables).files[script], {})
    return found
