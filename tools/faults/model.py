"""What a fault is: something that breaks a lane on purpose, and how a user brings it back."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tools.faults.lane import Lane

State = Literal["deployed", "empty"]
Run = Callable[["Lane", random.Random], str]


@dataclass(frozen=True)
class Fault:
    """One kind of fault."""

    name: str
    """As the table shows it: "kill -9 of pulumi up", "EC2 throttles", "instance terminated".

    {title} and {process} stand for those of the database.
    """
    family: str
    """The module of tools.faults.cases it is in."""
    run: Run
    """Injects it and brings the lane back as a user would: the same command again.

    Gives one short line of what was seen; raises AssertionError when a promise is broken.
    """
    weight: int = 1
    """How often it is drawn, compared with the others, once each had its turn."""
    leaves: State = "deployed"
    """The state of the stack afterwards."""
    needs: State = "deployed"
    """The state it starts from; the runner brings the lane there."""
    cannot: Callable[[], str] = lambda: ""
    """Why it cannot be made on this machine; empty when it can."""
    may_detach_mounted: str = ""
    """Why EC2 may be asked meanwhile to detach a volume that is mounted; empty where nobody may ask."""
    alone: bool = False
    """Whether it takes for granted that nobody else changes settings meanwhile."""
    members: int = 1
    """How many servers the database has: several are a replication group."""
    target_s: float = 0
    """How long a client may be without an acknowledged commit; a longer pause is told, and no broken promise."""
    servers: int = 1
    """How many Nomad servers the sandbox must have, each in a zone."""
    seconds: float = 20
    """Rough duration, for the plan."""
