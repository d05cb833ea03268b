"""The document that `pulumi preview --json` prints, read into what a report needs."""

import json
from dataclasses import dataclass, field
from typing import Any, Final

from tools.preview_report.values import SECRET, SECRET_PROPERTIES, masked

_BOILERPLATE: Final = (
    "preview failed",
    "an unhandled error occurred: program exited with non-zero exit code: 1",
)
"""What the engine adds to the errors that say something."""


class NoReportError(Exception):
    """A report cannot be made; the message says of what and why."""


@dataclass(frozen=True)
class State:
    """Inputs and outputs of a resource, secrets masked."""

    inputs: dict[str, Any]
    outputs: dict[str, Any]
    retained: bool = False


@dataclass(frozen=True)
class Step:
    """What the engine would do to one resource."""

    operation: str
    urn: str
    type: str
    old: State | None
    new: State | None
    detailed: dict[str, dict[str, Any]] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The resource's name in the program."""
        return self.urn.rpartition("::")[2]


@dataclass(frozen=True)
class Preview:
    """What the engine would do to the stack, or why it would not even say."""

    stack: str
    region: str
    steps: tuple[Step, ...]
    errors: tuple[str, ...]
    unchanged: int


def parse(text: str) -> Preview:
    """Reads the document.

    Raises:
        NoReportError: the text is not such a document.
    """
    try:
        document = json.loads(text)
    except ValueError as error:
        raise NoReportError(
            f"the preview is not JSON ({error}); it must be what `pulumi preview --json` prints"
        ) from None
    if not isinstance(document, dict) or not ({"steps", "changeSummary", "diagnostics"} & document.keys()):
        raise NoReportError(
            "the preview has neither steps nor diagnostics; it must be what `pulumi preview --json` prints"
        )
    try:
        return _read(document)
    except (AttributeError, KeyError, TypeError) as error:
        raise NoReportError(f"the preview has a shape that is not known: {error!r}") from None


def _read(document: dict[str, Any]) -> Preview:
    steps = tuple(_step(item) for item in document.get("steps") or [])
    errors = [
        str(item.get("message", "")).strip().removeprefix("error: ")
        for item in document.get("diagnostics") or []
        # Standard error of the program arrives as information.
        if item.get("severity") == "error"
    ]
    errors = [error for error in errors if error not in _BOILERPLATE] or errors
    summary = document.get("changeSummary") or {}
    stack = next((step.urn.split("::")[0].rpartition(":")[2] for step in steps if step.urn.count("::") >= 3), "")
    region = str((document.get("config") or {}).get("aws:region") or "")
    return Preview(stack, region, steps, tuple(filter(None, errors)), int(summary.get("same") or 0))


def _step(item: dict[str, Any]) -> Step:
    old, new = item.get("oldState") or {}, item.get("newState") or {}
    parts = str(item["urn"]).split("::")
    resource_type = new.get("type") or old.get("type") or (parts[2].rpartition("$")[2] if len(parts) > 2 else "")
    return Step(
        operation=str(item["op"]),
        urn=str(item["urn"]),
        type=str(resource_type),
        old=_state(old, str(resource_type)) if old else None,
        new=_state(new, str(resource_type)) if new else None,
        detailed=dict(item.get("detailedDiff") or {}),
        reasons=tuple(item.get("replaceReasons") or ()),
    )


def _state(state: dict[str, Any], resource_type: str) -> State:
    hidden = SECRET_PROPERTIES.get(resource_type, frozenset()) | set(state.get("additionalSecretOutputs") or ())

    def properties(kind: str) -> dict[str, Any]:
        return {
            key: SECRET if key in hidden else masked(value)
            for key, value in (state.get(kind) or {}).items()
            if not key.startswith("__")
        }

    return State(properties("inputs"), properties("outputs"), bool(state.get("retainOnDelete")))
