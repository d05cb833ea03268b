"""Findings of policy packs, from the engine's event log: the preview's own document leaves them out."""

import json
from dataclasses import dataclass

from tools.preview_report.document import NoReportError


@dataclass(frozen=True)
class Finding:
    """A policy that a resource violates."""

    policy: str
    level: str
    resource: str
    message: str

    @property
    def is_mandatory(self) -> bool:
        """Whether it stops the update; every level but advice counts."""
        return self.level not in ("advisory", "disabled")


def parse_events(text: str) -> list[Finding]:
    """The findings in a file that `pulumi preview --event-log` wrote: one event in JSON a line.

    Raises:
        NoReportError: a line is not an event.
    """
    findings: dict[Finding, None] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            event = json.loads(line).get("policyEvent")
        except (ValueError, AttributeError):
            raise NoReportError(f"line {number} of the event log is not an event in JSON") from None
        if event:
            findings[
                Finding(
                    policy=f"{event.get('policyPackName', '')}/{event.get('policyName', '')}",
                    level=str(event.get("enforcementLevel", "mandatory")),
                    resource=str(event.get("resourceUrn", "")).rpartition("::")[2],
                    message=" ".join(str(event.get("message", "")).split()),
                )
            ] = None
    return sorted(findings, key=lambda finding: (not finding.is_mandatory, finding.policy, finding.resource))
