"""A stack with every extra of MySQL and programs on volumes: statements, dumps and restores in it."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymysql
import yaml

from tools.trial.running import PROJECT, Running, eventually


@contextmanager
def stack_with_consumers(folder: Path) -> Iterator[Running]:
    """While the sandbox stack is up with what consumers.yaml adds."""
    running = Running.prepare(folder)
    path = running.project / "Pulumi.dev.yaml"
    whole = yaml.safe_load(path.read_text())
    more = yaml.safe_load((PROJECT / "tests/sandbox/consumers.yaml").read_text())
    config = whole["config"]
    config["nomad-stateful:volumes"] = more["volumes"]
    config["nomad-stateful:mysql"].update(more["mysql"])
    config["nomad-stateful:consumers"] = more["consumers"]
    path.write_text(yaml.safe_dump(whole))
    with running.up():
        yield running


def sql(
    stack: Running, *statements: str, user: str = "root", password: str = "", encrypted: bool = True
) -> tuple[tuple[Any, ...], ...]:
    """Runs statements, committed; the last one's rows."""
    known = stack.outputs()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # The server's own certificate is signed by nobody that this machine knows.
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with (
        pymysql.connect(
            host=stack.server_endpoint().host,
            port=stack.server_endpoint().port,
            user=user,
            password=password or known["mysqlPassword"],
            autocommit=True,
            connect_timeout=5,
            ssl=context if encrypted else None,
            ssl_disabled=not encrypted,
        ) as connection,
        connection.cursor() as cursor,
    ):
        for statement in statements:
            cursor.execute(statement)
        return tuple(cursor.fetchall())


def newest_child(stack: Running, parent: str) -> dict[str, Any]:
    """The newest job that a periodic or parameterized one started, once it has ended."""

    def probe() -> dict[str, Any] | None:
        children = [job for job in stack.nomad.get("jobs", prefix=f"{parent}/") if job["ParentID"] == parent]
        newest = max(children, key=lambda job: int(job["CreateIndex"]), default=None)
        return newest if newest is not None and newest["Status"] == "dead" else None

    return eventually(probe, 240, f"a finished run of {parent}", stack.diagnosis)


def summary(stack: Running, job: dict[str, Any]) -> dict[str, int]:
    found = stack.nomad.get(f"job/{job['ID'].replace('/', '%2F')}/summary")
    (group,) = found["Summary"].values()
    return {state: count for state, count in group.items() if count}


def force_dump(stack: Running, job: str = "mysql-backup") -> dict[str, Any]:
    before = stack.nomad.get("jobs", prefix=f"{job}/")
    stack.nomad.put(f"job/{job}/periodic/force", {})

    def probe() -> dict[str, Any] | None:
        child = newest_child(stack, job)
        return child if child["ID"] not in {one["ID"] for one in before} else None

    return eventually(probe, 240, "a new dump")


def restore(stack: Running, dump: str) -> dict[str, Any]:
    answer = stack.nomad.put("job/mysql-backup-restore/dispatch", {"Meta": {"dump": dump}})

    def probe() -> dict[str, Any] | None:
        job = stack.nomad.get(f"job/{answer['DispatchedJobID'].replace('/', '%2F')}")
        return dict(job) if job["Status"] == "dead" else None

    return eventually(probe, 240, "the end of the restore")
