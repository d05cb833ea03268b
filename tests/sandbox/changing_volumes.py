"""Changes of a running stack's volumes: made on the real engine, and the rows are there afterwards."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests import official_parts
from tools.trial.running import Running

Config = dict[str, Any]
Edit = Callable[[Config], None]


@contextmanager
def stack_with_rows(folder: Path) -> Iterator[Running]:
    """While a stack is up whose MySQL has a row, on the official nomad plugin where OFFICIAL has it."""
    running = Running.prepare(folder)
    with running.up(*official_parts.words()):
        at = running.server_endpoint()
        running.sql(
            at, "CREATE DATABASE t", "CREATE TABLE t.rows (id INT PRIMARY KEY)", "INSERT INTO t.rows VALUES (7)"
        )
        yield running


def edit(stack: Running, change: Edit) -> Config:
    """Changes the stack's settings; what they were before."""
    path = stack.project / "Pulumi.dev.yaml"
    before: Config = yaml.safe_load(path.read_text())
    after: Config = yaml.safe_load(path.read_text())
    change({key.removeprefix("nomad-stateful:"): value for key, value in after["config"].items()})
    path.write_text(yaml.safe_dump(after, sort_keys=False))
    return before


def restore(stack: Running, before: Config) -> None:
    (stack.project / "Pulumi.dev.yaml").write_text(yaml.safe_dump(before, sort_keys=False))


def pulumi(stack: Running, *words: str, succeeds: bool = True) -> str:
    """What pulumi prints, its lines as one."""
    done = stack.run("pulumi", *words, "--non-interactive", "--diff=false", timeout_s=600)
    assert (done.returncode == 0) is succeeds, done.stdout + done.stderr
    return re.sub(r"\s+", " ", done.stdout + done.stderr)


def changed(stack: Running, change: Edit) -> str:
    """Makes a change; what was said of it. Afterwards nothing is left to do, and the rows are there."""
    edit(stack, change)
    said = pulumi(stack, "up", "--yes")
    pulumi(stack, "preview", "--refresh", "--expect-no-changes")
    assert stack.sql(stack.server_endpoint(), "SELECT id FROM t.rows") == [(7,)]
    return said


def previewed(stack: Running, change: Edit, *, succeeds: bool = True) -> str:
    """What a preview says of a change that is not made."""
    before = edit(stack, change)
    try:
        return pulumi(stack, "preview", succeeds=succeeds)
    finally:
        restore(stack, before)


def volume_id(stack: Running, name: str) -> str:
    return str(stack.outputs()["volumes"][name]["id"])


def registered(stack: Running) -> dict[str, str]:
    listed = json.loads(stack.run("nomad", "operator", "api", "/v1/volumes?type=csi").stdout)
    return {one["ID"]: one["ExternalID"] for one in listed}


def named(name: str, *, instead_of: str, **more: Any) -> Edit:
    """Gives a volume, and what MySQL is on, another name."""

    def change(config: Config) -> None:
        volume = next(one for one in config["volumes"] if one["name"] == instead_of)
        volume.pop("renamedFrom", None)
        volume.update(name=name, **more)
        if config["mysql"]["volume"] == instead_of:
            config["mysql"]["volume"] = name

    return change


def with_volume(name: str, **more: Any) -> Edit:
    return lambda config: next(one for one in config["volumes"] if one["name"] == name).update(more)


def without_volume(name: str) -> Edit:
    def change(config: Config) -> None:
        config["volumes"][:] = [one for one in config["volumes"] if one["name"] != name]

    return change
