# ruff: noqa: ARG002 - the signatures are the interface; most types need a part of it only
"""What a plugin is made of: its resource types, its functions, and what their methods get and give."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from nomad_stateful.plugin_server.diffing import Kind, input_diff, property_diff
from nomad_stateful.plugin_server.values import UNKNOWN, Props, Secret, decode_config
from nomad_stateful.waiting import Context

__all__ = [
    "UNKNOWN",
    "CheckFailure",
    "Checked",
    "Diff",
    "Function",
    "InitFailed",
    "InvokeFailure",
    "Kind",
    "Plugin",
    "Props",
    "ReadResult",
    "ResourceType",
    "Secret",
    "decode_config",
    "input_diff",
    "property_diff",
]

# Provider settings that are the engine's business.
_ENGINES_OWN = frozenset({"version", "pluginDownloadURL"})


@dataclass(frozen=True)
class CheckFailure:
    """One refused input; with an empty `property` the engine does not print the value."""

    property: str
    reason: str


@dataclass(frozen=True)
class Checked:
    """Inputs with defaults filled in, and what is wrong with them."""

    inputs: Props
    failures: list[CheckFailure] = field(default_factory=list)


@dataclass(frozen=True)
class Diff:
    """Changed property paths (none: no change) and the top-level names that force a replacement."""

    detailed: dict[str, Kind] = field(default_factory=dict)
    replaces: list[str] = field(default_factory=list)
    delete_before_replace: bool = False
    """Also where nothing is replaced: the engine goes by it for a replacement that was cut off, and would otherwise
    delete the resource once more at the end, when its successor is there."""
    stables: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ReadResult:
    """What a resource is really like now."""

    id: str
    inputs: Props
    outputs: Props


class InitFailed(Exception):
    """The resource exists but is not as asked: it is kept in the state, and the next `up` updates it."""

    def __init__(self, id: str, outputs: Props, reasons: list[str], inputs: Props) -> None:
        super().__init__("; ".join(reasons))
        self.id = id
        self.outputs = outputs
        self.reasons = reasons
        self.inputs = inputs


class InvokeFailure(Exception):
    """A function argument is refused."""

    def __init__(self, property: str, reason: str) -> None:
        super().__init__(reason)
        self.property = property
        self.reason = reason


class ResourceType:
    """One resource type; secrets, the wire form of unknowns, and errors are the server's business."""

    token: str
    secret_outputs: frozenset[str] = frozenset()
    """Always wrapped as secret in outputs, and in the inputs of the same name."""
    computed: frozenset[str] = frozenset()
    """Outputs that are not inputs: unknown in the preview of a creation."""
    replace_on: frozenset[str] = frozenset()
    """Inputs whose change replaces the resource, by the default diff."""

    def check(self, ctx: Context, olds: Props, news: Props) -> Checked:
        """Validates inputs (which may hold unknowns) and fills in defaults."""
        return Checked(news)

    def diff(self, ctx: Context, id: str, state: Props, old_inputs: Props, news: Props) -> Diff:
        """Returns what an update to `news` would change; by default a comparison of the inputs."""
        return Diff(input_diff(old_inputs, news, self.replace_on))

    def preview_create(self, ctx: Context, inputs: Props) -> Props:
        """Returns planned outputs of a creation, without side effects."""
        return inputs | dict.fromkeys(self.computed, UNKNOWN)

    def create(self, ctx: Context, inputs: Props) -> tuple[str, Props]:
        """Makes the resource and returns its id and outputs. Raises InitFailed when it exists but is not as asked."""
        raise NotImplementedError

    def preview_update(self, ctx: Context, id: str, state: Props, inputs: Props) -> Props:
        """Returns planned outputs of an update, without side effects."""
        return {key: value for key, value in state.items() if key in self.computed} | inputs

    def update(self, ctx: Context, id: str, state: Props, old_inputs: Props, inputs: Props) -> Props:
        """Changes the resource in place and returns its new outputs."""
        raise NotImplementedError

    def read(self, ctx: Context, id: str, inputs: Props, state: Props) -> ReadResult | None:
        """Returns the resource as it is, None when it is gone. With empty inputs and state it is being imported."""
        raise NotImplementedError

    def delete(self, ctx: Context, id: str, state: Props) -> None:
        """Removes the resource; one that is gone already counts as removed."""
        raise NotImplementedError


class Function:
    """One function a program can invoke."""

    token: str

    def invoke(self, ctx: Context, args: Props) -> Props:
        """Returns the function's result. Raises InvokeFailure for a bad argument."""
        raise NotImplementedError


class Components(Protocol):
    """The components of a plugin."""

    def construct(self, request: Any, context: Any, engine_address: str) -> Any:
        """Answers the engine's Construct."""


class Plugin:
    """A provider plugin: what it offers and how it is configured."""

    name: str = ""
    version: str = ""
    resources: Sequence[ResourceType] = ()
    functions: Sequence[Function] = ()
    secret_config: frozenset[str] = frozenset()
    """Configuration keys always kept as secret."""
    cancelled: threading.Event = threading.Event()
    """Set once the engine cancels, or the plugin ends; the server's."""
    unrecognized_note: str = "This embedded plugin does not implement it; the official plugin does."
    """Said after the refusal of a type or function the plugin does not have."""

    def prepare(self) -> None:
        """Imports what the first call needs; runs in the background, while the engine starts the next plugin."""

    def check_config(self, ctx: Context, olds: Props, news: Props) -> Checked:
        """Validates the provider's configuration, in wire form (see decode_config)."""
        return Checked(news)

    def diff_config(self, olds: Props, news: Props) -> Diff:
        """Returns what a change of configuration changes: without a difference the engine goes on with the old one."""
        old, new = ({key: props[key] for key in props if key not in _ENGINES_OWN} for props in (olds, news))
        return Diff(input_diff(old, new))

    def configure(self, config: Props) -> None:
        """Takes the configuration, in wire form (see decode_config), before any resource call."""

    def schema(self) -> dict[str, Any]:
        """Returns the Pulumi package schema."""
        return {}

    def components(self) -> Components | None:
        """Returns what makes its components for programs in other languages; None where it has none."""
        return None
