"""What Pulumi would change for the new version: previewed with a copy of the stack's file."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nomad_stateful.nomad.api import NomadApi
from operate import stack
from operate.errors import OperateError
from operate.upgrade.wanted import UpgradeRefusedError, Wanted

_JOB = "nomad:index/job:Job"
_UNCHANGED = frozenset({"same", "read", "refresh", "discard"})


class PulumiError(OperateError):
    """Pulumi failed; its message is the text."""


@dataclass(frozen=True)
class Change:
    """One resource that the preview changes."""

    op: str
    type: str
    name: str
    inputs: Mapping[str, Any]


def pulumi(*words: str, quiet: bool = True) -> str:
    """Runs pulumi on the chosen stack; returns what it printed. Raises PulumiError."""
    command = ["pulumi", *words, "--non-interactive", "--stack", stack.chosen()]
    done = subprocess.run(command, cwd=stack.project_dir(), capture_output=quiet, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout or "").strip()[-2000:]
        raise PulumiError(f"pulumi {words[0]} failed: {said or 'see above'}")
    return done.stdout or ""


def set_config(settings: Mapping[str, str], *more: str) -> None:
    """Changes settings of the stack, by path. Raises PulumiError."""
    for path, value in settings.items():
        pulumi("config", "set", "--path", path, value, *more)


@contextmanager
def copied(settings: Mapping[str, str]) -> Iterator[Path]:
    """Gives a copy of the stack's file with other settings, and removes it. Raises PulumiError."""
    own = stack.project_dir() / f"Pulumi.{stack.chosen().rpartition('/')[2]}.yaml"
    with tempfile.TemporaryDirectory(prefix="upgrade-driver-") as folder:
        path = Path(folder) / own.name
        shutil.copyfile(own, path)
        path.chmod(0o600)
        set_config(settings, "--config-file", str(path))
        yield path


def changes(wanted: Wanted) -> list[Change]:
    """Returns what an `up` with the new version would change. Raises PulumiError."""
    with copied(wanted.settings) as path:
        said = json.loads(pulumi("preview", "--json", "--config-file", str(path)))
    found = [step for step in said.get("steps") or [] if step["op"] not in _UNCHANGED]
    return [_change(step) for step in found]


def _change(step: Mapping[str, Any]) -> Change:
    state = step.get("newState") or step.get("oldState") or {}
    urn = str(step.get("urn") or "")
    return Change(str(step["op"]), str(state.get("type") or ""), urn.rpartition("::")[2], state.get("inputs") or {})


def refuse_others(wanted: Wanted, found: Sequence[Change]) -> None:
    """Raises UpgradeRefusedError where an `up` would change more than the plugin."""
    others = [
        one.name for one in found if one.op != "update" or (one.type == _JOB and wanted.plugin_id not in one.name)
    ]
    if others:
        raise UpgradeRefusedError(
            f"an update would change more than plugin {wanted.plugin_id}: {', '.join(sorted(others))}. Run `pulumi up` "
            "for what is pending first, or `pulumi preview` to see it"
        )


def node_job(api: NomadApi, wanted: Wanted, found: Sequence[Change]) -> dict[str, Any] | None:
    """Returns the new job of the node plugins, None where the version does not change it. Raises NomadError."""
    for one in found:
        spec = str(one.inputs.get("jobspec") or "")
        if one.type == _JOB and f'"{wanted.node_job}"' in spec:
            variables = (one.inputs.get("hcl2") or {}).get("vars") or {}
            file = "\n".join(f"{name} = {value}" for name, value in variables.items())
            body = {"JobHCL": spec, "Variables": file, "Canonicalize": True}
            return dict(api.put("jobs/parse", body))
    return None
