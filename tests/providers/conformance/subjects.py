"""What is asked of a resource type or function: its token, inputs that are right, and what it says of itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from nomad_stateful.plugin_server.values import Props
from tests.providers.conformance.worlds import EMBEDDED, World
from tests.providers.harness import Resource


@dataclass(frozen=True)
class Subject:
    """What is asked, and whose plugin."""

    token: str
    implementation: str = field(default=EMBEDDED, kw_only=True)

    @property
    def plugin(self) -> str:
        """The name of its plugin, with which its token begins."""
        return self.token.partition(":")[0]

    @property
    def world(self) -> str:
        """The name of the world in which it is asked."""
        return self.implementation + self.plugin

    @property
    def label(self) -> str:
        """What the tests call it."""
        return self.implementation + self.token


@dataclass(frozen=True)
class TypeSubject(Subject):
    """A resource type; property names are the wire's, values what a program would give."""

    inputs: Callable[[World], Props]
    """Inputs of a resource that can be made; makes what they refer to."""
    required: Set[str]
    updates: Mapping[str, Any]
    """Input -> another value, which an update brings."""
    replaces: Mapping[str, Any] = field(default_factory=dict)
    """Input -> another value, which only a replacement brings."""
    gone_fails: str = ""
    """What the deletion of what is gone is refused with; empty where it succeeds."""
    delete_first_after_interruption: bool = False
    """Also where nothing is replaced any more, by which the engine goes on with a replacement that was cut off."""
    delete_first: bool = False
    """Whether a replacement deletes first where the name is the plugin's choice."""
    delete_first_if_named: bool = False
    """Whether it deletes first where the program chose the name."""
    autonamed: bool = False
    named_by: str = "name"
    """The input that names it, where it is autonamed."""
    secrets: Set[str] = frozenset()
    """Outputs that are secret whatever the inputs were."""
    vanish: Callable[[World, Resource], None] | None = None
    """Takes the resource away behind the plugin's back; None where it is nothing outside the stack."""
    outlasts: str = ""
    """Why a refresh keeps it in the state although it was taken away; empty where it is gone then."""
    refresh_asks: bool = True
    """Whether a refresh asks a service."""
    defended: Set[str] = frozenset()
    """Inputs whose change is refused while what they name may exist."""
    delete_leaves: str = ""
    """Why a deletion asks nothing of any service and a refresh still finds it; empty where deletion takes it away."""
    delete_stops: bool = False
    """Whether deletion stops or suspends it, and a refresh still finds it so."""
    import_id: Callable[[Resource], str] | None = None
    """Id for an import; None where it cannot be imported."""
    import_fails: str = ""
    """What any import is refused with; empty where there is an import, or none by design."""
    hidden: Set[str] = frozenset()
    """Inputs that an import cannot find out, or does not."""
    left_out: Set[str] = frozenset()
    """Inputs of the official type that our plugin refuses by name."""
    stricter: Set[str] = frozenset()
    """Inputs that our plugin requires and the SDK does not."""
    invalid: Mapping[str, Any] = field(default_factory=dict)
    """Input -> a value that is refused before anything is done."""
    must_be_known: Mapping[str, str] = field(default_factory=dict)
    """Input -> what a preview is refused with while that input alone is unknown."""


@dataclass(frozen=True)
class FunctionSubject(Subject):
    """A function a program can invoke."""

    args: Callable[[World], Props]
    required: Set[str] = frozenset()
