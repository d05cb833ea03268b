"""The Nomad job files, and how values reach their variables."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


def spec(name: str) -> str:
    """The text of a job file, e.g. ``spec("mysql")`` for ``mysql.nomad.hcl``."""
    return (FOLDER / f"{name}.nomad.hcl").read_text(encoding="utf-8")


def hcl_value(value: Any) -> str:
    """A value as Nomad takes it for a typed variable: JSON, in which HCL must not find templates of its own.

    A bare string is taken literally by Nomad, so it is not escaped.
    """
    return value if isinstance(value, str) else json.dumps(_escaped(value), sort_keys=True)


def _escaped(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("${", "$${").replace("%{", "%%{")
    if isinstance(value, dict):
        return {_escaped(key): _escaped(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_escaped(item) for item in value]
    return value
