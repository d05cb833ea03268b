"""Whether a change may go green."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from nomad_stateful.resource_types import DATA_HOLDERS
from tools.preview_report import snapshots
from tools.preview_report.document import Preview, State, Step
from tools.preview_report.policies import Finding

ALLOW_LABEL: Final = "allow-data-loss"
"""The pull request's label with which somebody takes the loss of data on themselves."""
HARMLESS: Final = frozenset({"same", "create", "update", "read", "refresh", "import"})
"""Operations of the engine after which the data is still there. Every other one, known or new, counts as a loss."""


@dataclass(frozen=True)
class Verdict:
    """Reasons that make it red, and warnings that do not."""

    reasons: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def is_green(self) -> bool:
        """Whether nothing speaks against the change."""
        return not self.reasons


def loses_data(operation: str, resource_type: str) -> bool:
    """Whether the operation deletes or replaces something that holds data."""
    return operation not in HARMLESS and resource_type in DATA_HOLDERS


def judge(preview: Preview, findings: Sequence[Finding], labels: Collection[str]) -> Verdict:
    """Red when data would be lost without the label, a mandatory policy is violated, or the preview failed."""
    reasons: list[str] = []
    warnings: list[str] = []
    losses = [_loss(step, preview) for step in preview.steps if loses_data(step.operation, step.type)]
    if losses and ALLOW_LABEL in labels:
        warnings += [f"{loss} Allowed by the label `{ALLOW_LABEL}`." for loss in losses]
    else:
        reasons += losses
    mandatory = [finding for finding in findings if finding.is_mandatory]
    reasons += [f"Policy {finding.policy} is violated by {finding.resource}." for finding in mandatory]
    # A violated policy fails the preview too, and is told by itself.
    if preview.errors and not (mandatory and preview.errors == ("preview failed",)):
        reasons.append("The preview failed: what else would change is not known.")
    warnings += [
        f"`{step.name}` is replaced: the job that uses its volume is stopped, and started again afterwards."
        for step in preview.steps
        if step.type == "nomad-csi:index:VolumeRelease" and step.operation in ("replace", "create-replacement")
    ]
    warnings += snapshots.warnings(preview)
    return Verdict(tuple(dict.fromkeys(reasons)), tuple(dict.fromkeys(warnings)))


def _loss(step: Step, preview: Preview) -> str:
    replaced = step.operation in ("replace", "create-replacement", "delete-replaced")
    verb = "replaced" if replaced else "deleted" if step.operation == "delete" else f"lost ({step.operation})"
    return f"`{step.name}` would be {verb}: {DATA_HOLDERS[step.type]}.{_saved(step)}{_successor(step, preview)}"


def _saved(step: Step) -> str:
    if step.old is None:
        return ""
    if step.old.retained:
        return " It is marked to be retained: it leaves the stack, and stays unless something else deletes it."
    return " A final snapshot is taken first." if step.old.inputs.get("finalSnapshot") is True else ""


def _successor(step: Step, preview: Preview) -> str:
    """What takes the place of a volume: one cannot be moved between zones, so a move is a deletion and a creation."""
    named = _tagged_name(step.old)
    if step.operation != "delete" or not named:
        return ""
    for other in preview.steps:
        if other.operation == "create" and other.type == step.type and _tagged_name(other.new) == named and other.new:
            origin = other.new.inputs.get("snapshotId")
            filled = f"made from the snapshot {origin}" if origin else "and starts empty"
            return f" `{other.name}` takes its place in {other.new.inputs.get('availabilityZone')}, {filled}."
    return ""


def _tagged_name(state: State | None) -> str:
    tags = state.inputs.get("tags") if state else None
    return str(tags.get("Name") or "") if isinstance(tags, dict) else ""
