"""The report: a pure function of the preview, the rendered jobs, the labels, the policies' findings and the prices."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

from nomad_stateful.resource_types import DATA_HOLDERS
from tools.markdown import block, code, prose, table
from tools.preview_report import cost as costs
from tools.preview_report.document import Preview, Step
from tools.preview_report.jobs import RenderedJob, difference
from tools.preview_report.policies import Finding
from tools.preview_report.properties import changes
from tools.preview_report.verdict import ALLOW_LABEL, Verdict, judge, loses_data

MARKER: Final = "<!-- nomad-stateful-preview -->"
"""First line of the comment, by which the next run finds it."""

_LONGEST: Final = 60000
"""Characters; GitHub refuses a comment of more than 65536."""

_LONGEST_DIFF: Final = 250
_LONGEST_OPEN: Final = 25
_ORDER: Final = ("delete", "replace", "create-replacement", "delete-replaced", "update", "create")


@dataclass(frozen=True)
class Report:
    """The comment's text and what it comes to."""

    text: str
    verdict: Verdict


def make_report(
    preview: Preview,
    jobs: Sequence[RenderedJob],
    labels: Collection[str],
    findings: Sequence[Finding],
    prices: costs.Prices,
) -> Report:
    """The whole report, never longer than a comment may be."""
    verdict = judge(preview, findings, labels)
    sections: list[Callable[[], list[str]]] = [
        lambda: _verdict(preview, verdict),
        lambda: _failure(preview),
        lambda: _changes(preview),
        lambda: _properties(preview),
        lambda: _costs(preview, prices),
        lambda: _fees(preview, prices),
        lambda: _policies(findings),
        lambda: _jobs(jobs),
    ]
    text = MARKER
    for section in sections:
        lines = section()
        addition = "\n\n" + "\n".join(lines) if lines else ""
        if len(text) + len(addition) > _LONGEST:
            text += "\n\n_The rest is too long for a comment: run `make preview-report` to read it._"
            break
        text += addition
    return Report(text + "\n", verdict)


def changed_steps(preview: Preview) -> list[Step]:
    """The steps that do something, the dangerous ones first."""
    steps = [step for step in preview.steps if step.operation not in ("same", "read", "refresh")]
    order = {operation: place for place, operation in enumerate(_ORDER)}
    key = lambda step: (not loses_data(step.operation, step.type), order.get(step.operation, -1), step.name)  # noqa: E731
    return sorted(steps, key=key)


def _verdict(preview: Preview, verdict: Verdict) -> list[str]:
    of = f" of {code(preview.stack)}" if preview.stack else ""
    if preview.errors and preview.errors != ("preview failed",):
        title = f"## 🔴 The preview{of} failed"
    elif not verdict.is_green:
        title = f"## 🔴 Preview{of}: not safe to merge"
    elif verdict.warnings:
        title = f"## 🟡 Preview{of}: read the warnings"
    else:
        title = f"## 🟢 Preview{of}: " + (
            "nothing that holds data goes away" if changed_steps(preview) else "no changes"
        )
    lines = [title, ""]
    lines += [f"- **{prose(reason)}**" for reason in verdict.reasons]
    lines += [f"- ⚠️ {prose(warning)}" for warning in verdict.warnings]
    if any(loses_data(step.operation, step.type) for step in preview.steps) and not verdict.is_green:
        lines += [
            "",
            f"If that is what you want, set the label {code(ALLOW_LABEL)} on the pull request and run this again.",
        ]
    return lines if lines[-1] else lines[:-1]


def _failure(preview: Preview) -> list[str]:
    if not preview.errors or preview.errors == ("preview failed",):
        return []
    said = [line for error in preview.errors for line in error.splitlines() if line.strip()]
    return ["What Pulumi said:", "", *block("text", said)]


def _changes(preview: Preview) -> list[str]:
    steps = changed_steps(preview)
    if not steps:
        return [] if preview.errors else [f"No changes; {preview.unchanged} resources stay as they are."]
    rows = [
        [
            f"**{step.operation}**" if loses_data(step.operation, step.type) else step.operation,
            code(step.name),
            code(step.type),
            prose(DATA_HOLDERS.get(step.type, "")) if loses_data(step.operation, step.type) else "",
        ]
        for step in steps
    ]
    counted = {
        operation: sum(step.operation == operation for step in steps) for operation in (s.operation for s in steps)
    }
    summary = ", ".join(f"{number} {operation}" for operation, number in counted.items())
    return [
        "### Changes",
        "",
        f"{summary}; {preview.unchanged} unchanged.",
        "",
        table(("change", "resource", "type", "what would be lost"), rows),
    ]


def _properties(preview: Preview) -> list[str]:
    rows = [
        [code(step.name), code(change.path), code(change.old), code(change.new), "yes" if change.replaces else ""]
        for step in changed_steps(preview)
        for change in changes(step)
    ]
    if not rows:
        return []
    heading = ("resource", "property", "now", "then", "replaces")
    lines = ["", table(heading, rows), ""]
    shown = " open" if len(rows) <= _LONGEST_OPEN else ""
    return [f"<details{shown}><summary>Properties ({len(rows)})</summary>", *lines, "</details>"]


def _costs(preview: Preview, prices: costs.Prices) -> list[str]:
    found = costs.volume_costs(preview, prices)
    if not found:
        return []
    rows = [
        [code(cost.name), prose(cost.was), prose(cost.becomes), _money(cost.before), _money(cost.after)]
        for cost in found
    ]
    known = [cost.after - cost.before for cost in found if cost.after is not None and cost.before is not None]
    total = f"{sum(known):+.2f} {prices.currency} a month" + (
        "" if len(known) == len(found) else " and what is not known"
    )
    where = f"list prices of {prices.region}, {prices.as_of}, {prices.source}"
    elsewhere = f"; this stack is in {preview.region}" if preview.region not in ("", prices.region) else ""
    return [
        "### Cost of the EBS volumes",
        "",
        f"**{total}**, an estimate from {where}{elsewhere}. Snapshots, I/O and taxes are not in it.",
        "",
        table(("volume", "now", "then", f"{prices.currency}/month now", "then"), rows),
    ]


def _fees(preview: Preview, prices: costs.Prices) -> list[str]:
    found = costs.fees(preview, prices)
    if not found:
        return []
    rows = [
        [code(fee.name), prose(fee.size), prose(fee.rate), "not known" if fee.most is None else f"≤ {fee.most:.2f}"]
        for fee in found
    ]
    known = [fee.most for fee in found if fee.most is not None]
    total = f"At most {sum(known):.2f} {prices.currency}, once" if known else "A fee that the price table does not know"
    rest = " and what is not known" if known and len(known) < len(found) else ""
    source = ", ".join(str(prices.initialization[key]) for key in ("as_of", "source") if key in prices.initialization)
    where = f" List prices of {prices.region}: {source}." if source else ""
    return [
        "### One-time fee of the restored volumes",
        "",
        (
            f"**{total}{rest}**, not in the sum a month: AWS loads the snapshot's blocks at a rate "
            f"(`initializationRateMibps`), and bills its full size, which is at most the volume's.{where}"
        ),
        "",
        table(("volume", "size", "rate", f"{prices.currency} once"), rows),
    ]


def _money(amount: float | None) -> str:
    return "not known" if amount is None else f"{amount:.2f}"


def _policies(findings: Sequence[Finding]) -> list[str]:
    if not findings:
        return []
    rows = [
        [finding.level, code(finding.policy), code(finding.resource), prose(finding.message)] for finding in findings
    ]
    return ["### Policies", "", table(("level", "policy", "resource", "finding"), rows)]


def _jobs(jobs: Sequence[RenderedJob]) -> list[str]:
    lines: list[str] = []
    for job in jobs:
        diff = difference(job)
        lines += ["", f"<details><summary>Job {prose(job.name)}: {_extent(job, diff)}</summary>", ""]
        lines += [f"- {prose(note)}" for note in job.notes]
        if diff:
            cut = [f"… {len(diff) - _LONGEST_DIFF} more lines"] if len(diff) > _LONGEST_DIFF else []
            lines += ["", *block("diff", [*diff[:_LONGEST_DIFF], *cut])]
        lines += ["", "</details>"]
    return ["### Jobs as Nomad reads them", *lines] if lines else []


def _extent(job: RenderedJob, diff: Sequence[str]) -> str:
    if job.before is None and job.after is None:
        return "not rendered"
    added = sum(line.startswith("+") and not line.startswith("+++") for line in diff)
    removed = sum(line.startswith("-") and not line.startswith("---") for line in diff)
    return f"{added} lines added, {removed} removed" if diff else "the same"
