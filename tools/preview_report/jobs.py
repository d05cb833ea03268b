"""The Nomad jobs that change, before and after, as Nomad reads their files; and the difference."""

import difflib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from nomad_stateful.nomad.job_rendering import RenderError
from tools.preview_report.document import Preview, State, Step
from tools.preview_report.values import has_secret, has_unknown

_JOB: Final = "nomad:index/job:Job"
_SHOWN_CHARS: Final = 500

Render = Callable[[str, dict[str, str]], dict[str, Any]]
"""From the text of a job file and its variables to the job as Nomad reads it. RenderError: it cannot be read."""


@dataclass(frozen=True)
class RenderedJob:
    """A job that changes: before and after (None: there is none, or it cannot be rendered, as the notes say)."""

    name: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    notes: tuple[str, ...] = ()


def render_jobs(preview: Preview, render: Render) -> list[RenderedJob]:
    """Renders every job that the preview changes."""
    return [_render(step, render) for step in preview.steps if step.type == _JOB and step.operation != "same"]


def to_json(jobs: list[RenderedJob]) -> list[dict[str, Any]]:
    """The jobs as `from_json` reads them."""
    return [{"name": job.name, "before": job.before, "after": job.after, "notes": list(job.notes)} for job in jobs]


def from_json(items: list[dict[str, Any]]) -> list[RenderedJob]:
    """Rendered jobs that were kept in a file."""
    return [RenderedJob(item["name"], item["before"], item["after"], tuple(item["notes"])) for item in items]


def difference(job: RenderedJob) -> list[str]:
    """The unified diff of the job's JSON, empty when nothing differs."""
    lines = difflib.unified_diff(_lines(job.before), _lines(job.after), "before", "after", lineterm="", n=4)
    return list(lines)


def _render(step: Step, render: Render) -> RenderedJob:
    notes: list[str] = []
    goes = step.operation in ("delete", "delete-replaced")
    old_variables = _variables(step.old)
    before = _try(step.old, old_variables, render, notes, "before")
    new_variables = _variables(None if goes else step.new)
    for key, value in new_variables.items():
        if has_unknown(value):
            told = "shown as it is" if key in old_variables else "its job cannot be rendered yet"
            notes.append(f"the variable `{key}` is known only after the update: {told}")
            new_variables[key] = old_variables.get(key, value)
    after = None
    if not any(has_unknown(value) for value in new_variables.values()):
        after = _try(None if goes else _with_known_text(step), new_variables, render, notes, "after")
    return RenderedJob(step.name, before, after, tuple(notes))


def _with_known_text(step: Step) -> State | None:
    """The new state; a job file is as unknown as one of its variables, though only the job's id can differ."""
    if step.new is None or step.old is None or not has_unknown(step.new.inputs.get("jobspec")):
        return step.new
    return replace(step.new, inputs={**step.new.inputs, "jobspec": step.old.inputs.get("jobspec")})


def _try(
    state: State | None, variables: dict[str, str], render: Render, notes: list[str], when: str
) -> dict[str, Any] | None:
    text = None if state is None else state.inputs.get("jobspec")
    if not isinstance(text, str) or has_unknown(text):
        return None
    hidden = [key for key, value in variables.items() if has_secret(value)]
    if hidden:
        notes.append(f"{when}: {', '.join(f'`{key}`' for key in hidden)} is secret and left out")
    try:
        job: dict[str, Any] = _without_nulls(render(text, variables))
    except RenderError as error:
        notes.append(f"{when}: cannot be rendered: {' '.join(str(error).split())[:_SHOWN_CHARS]}")
        return None
    return job


def _variables(state: State | None) -> dict[str, str]:
    found = ((state.inputs.get("hcl2") or {}) if state else {}) or {}
    variables = found.get("vars") if isinstance(found, dict) else None
    return {key: str(value) for key, value in (variables if isinstance(variables, dict) else {}).items()}


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _lines(job: dict[str, Any] | None) -> list[str]:
    return [] if job is None else json.dumps(job, indent=2, sort_keys=True, ensure_ascii=False).splitlines()
