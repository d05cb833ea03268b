"""The examples as on a real account: the same stacks, with everything in containers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import yaml

_NOT_IN_CONTAINERS: Final = ("stagePublishBaseDir", "command", "user")


def rewrite(path: Path, tag: Callable[[str], str]) -> None:
    """Rewrites a stack's file for docker; `tag` gives the tag of an image that is here."""
    stack = yaml.safe_load(path.read_text(encoding="utf-8"))
    if "config" not in stack:
        return
    config = stack["config"]
    for plugin in config.get("nomad-stateful:plugins", []):
        _in_container(plugin)
    mysql = config.get("nomad-stateful:mysql")
    if mysql:
        _in_container(mysql)
        # MySQL is killed in its first start with the 512 MiB that are enough for the sandbox's MariaDB.
        mysql |= {"image": f"mysql:{tag('mysql')}", "memoryMib": 1024}
    for consumer in config.get("nomad-stateful:consumers", []):
        # Consumers name a program of their own, which the image has too.
        command = consumer["command"]
        _in_container(consumer)
        consumer |= {"image": f"busybox:{tag('busybox')}", "command": command}
    path.write_text(yaml.safe_dump(stack, sort_keys=False), encoding="utf-8")


def _in_container(task: dict[str, Any]) -> None:
    task["taskDriver"] = "docker"
    for key in _NOT_IN_CONTAINERS:
        task.pop(key, None)
