"""What an update to the new version would change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.operate.engine import Change
from nomad_stateful.operate.upgrade.wanted import UpgradeRefusedError, Wanted
from nomad_stateful.resource_types import NOMAD_JOB


def refuse_others(wanted: Wanted, found: Sequence[Change]) -> None:
    """Raises UpgradeRefusedError where an `up` would change more than the plugin."""
    others = [
        one.name for one in found if one.op != "update" or (one.type == NOMAD_JOB and wanted.plugin_id not in one.name)
    ]
    if others:
        raise UpgradeRefusedError(
            f"an update would change more than plugin {wanted.plugin_id}: {', '.join(sorted(others))}. Run `pulumi up` "
            "for what is pending first, or `pulumi preview` to see it"
        )


def node_job(api: NomadApi, wanted: Wanted, found: Sequence[Change]) -> dict[str, Any] | None:
    """Returns the new job of the node plugins, None where the version does not change it. Raises NomadError."""
    return changed_job(api, wanted.node_job, found)


def changed_job(api: NomadApi, job_id: str, found: Sequence[Change]) -> dict[str, Any] | None:
    """Returns a job as the update will register it, None where it does not change. Raises NomadError."""
    for one in found:
        spec = str(one.inputs.get("jobspec") or "")
        if one.type == NOMAD_JOB and f'"{job_id}"' in spec:
            variables = (one.inputs.get("hcl2") or {}).get("vars") or {}
            file = "\n".join(f"{name} = {value}" for name, value in variables.items())
            body = {"JobHCL": spec, "Variables": file, "Canonicalize": True}
            return dict(api.put("jobs/parse", body))
    return None
