"""The Pulumi project that a command works in: its folder and files, as Pulumi itself finds them."""

from pathlib import Path
from typing import Any

from nomad_stateful.operate.errors import OperateError

_NAMES = ("Pulumi.json", "Pulumi.yaml", "Pulumi.yml")
"""Of its own file, in the order in which Pulumi takes them."""


def file() -> Path:
    """Returns the project's own file: in the working directory or the nearest above it, else of the clone this is in.

    Raises OperateError where there is none.
    """
    here = Path.cwd()
    for folder in (here, *here.parents, _clone()):
        if found := next((folder / name for name in _NAMES if (folder / name).is_file()), None):
            return found
    raise OperateError(
        f"{here} has no Pulumi.yaml, and no folder above it: run this in the folder of the Pulumi project"
    )


def folder() -> Path:
    """Returns its folder. Raises OperateError."""
    return file().parent


def elsewhere() -> str:
    """Returns where the project is if it is that of the clone, for want of one here; else "". Raises OperateError."""
    here, found = Path.cwd(), folder()
    is_above = found in (here, *here.parents)
    return "" if is_above else f"{found}: {here} has no Pulumi.yaml, and no folder above it"


def name() -> str:
    """Returns its name. Raises OperateError."""
    path = file()
    if named := read(path).get("name"):
        return str(named)
    raise OperateError(f"{path} names no project, which is in the volumes' tags: run this in the Pulumi project")


def settings_file(stack: str) -> Path:
    """Returns the file of a stack's settings. Raises OperateError."""
    path = file()
    below = str(read(path).get("stackConfigDir") or "")
    return path.parent / below / settings_name(stack, path.suffix)


def settings_name(stack: str, suffix: str = ".yaml") -> str:
    """Returns the name of that file, in which Pulumi leaves the organization and project out."""
    return f"Pulumi.{stack.rpartition('/')[2]}{suffix}"


def read(path: Path) -> dict[str, Any]:
    """Returns what one of Pulumi's files says, nothing where there is none. Raises OperateError."""
    import yaml  # of few commands

    if not path.is_file():
        return {}
    try:
        known = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (OSError, ValueError, yaml.YAMLError) as error:
        # Its own text quotes the file, which may hold a secret.
        mark = getattr(error, "problem_mark", None)
        line = f" (line {mark.line + 1})" if mark else ""
        raise OperateError(f"{path} cannot be read{line}: it has to be YAML in UTF-8. Correct it") from None
    if not isinstance(known, dict):
        raise OperateError(f"{path} is no map: Pulumi's files are maps of settings. Correct it")
    return known


def _clone() -> Path:
    return Path(__file__).resolve().parents[2]
