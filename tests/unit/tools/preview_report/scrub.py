"""`python -m tests.unit.tools.preview_report.scrub < PREVIEW > RECORDED`: what a report reads, a step a line.

Previews in `recorded/` were made by `pulumi preview --json --diff` in the sandbox, after a change to Pulumi.dev.yaml.
"""

import json
import sys
from typing import Any

from nomad_stateful.resource_types import DATA_HOLDERS

_STEP = ("op", "urn", "detailedDiff", "replaceReasons")
_STATE = ("type", "additionalSecretOutputs", "retainOnDelete")
_READ_WHOLE = (*DATA_HOLDERS, "nomad:index/job:Job")
"""Types of which more is read than the properties that change."""


def scrubbed(document: dict[str, Any]) -> dict[str, Any]:
    """The document with what is read of it alone: nothing of the machine, its paths and its times."""
    return {
        "changeSummary": {"same": document.get("changeSummary", {}).get("same", 0)},
        "config": {"aws:region": document.get("config", {}).get("aws:region")},
        "diagnostics": [one for one in document.get("diagnostics", []) if one["severity"] == "error"],
        "steps": [_step(step) for step in document.get("steps", [])],
    }


def _step(step: dict[str, Any]) -> dict[str, Any]:
    found = {key: step[key] for key in _STEP if key in step}
    if step["op"] != "same":
        changed = {path.split(".")[0].split("[")[0] for path in step.get("detailedDiff") or ()}
        found |= {key: _state(step[key], changed) for key in ("oldState", "newState") if key in step}
    return found


def _state(state: dict[str, Any], changed: set[str]) -> dict[str, Any]:
    whole = not changed or state["type"] in _READ_WHOLE
    return {key: state[key] for key in _STATE if key in state} | {
        "inputs": {key: value for key, value in state.get("inputs", {}).items() if whole or key in changed},
        "outputs": {key: value for key, value in state.get("outputs", {}).items() if key in changed},
    }


def written(document: dict[str, Any]) -> str:
    """The document as JSON, in which each step has a line."""
    *others, (_, steps) = sorted(document.items())
    lines = [f'"{key}": {json.dumps(value, sort_keys=True)}' for key, value in others]
    listed = ",\n".join(json.dumps(step, sort_keys=True) for step in steps)
    return "{" + ",\n".join([*lines, f'"steps": [\n{listed}\n]']) + "}\n"


if __name__ == "__main__":
    sys.stdout.write(written(scrubbed(json.load(sys.stdin))))
