"""What getOwners answers about a Nomad that has nothing."""

from collections.abc import Mapping
from typing import Any


def nobodys(args: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a question about jobs and volumes, none of which exist."""
    nothing = {"exists": False, "stopped": False, "users": [], "claim": "", "stack": "", "ownerId": ""}
    asked = [(kind, one) for kind in ("job", "volume") for one in args[f"{kind}s"]]
    return {"found": [{"kind": kind, "id": one, **nothing} for kind, one in asked], "registrations": []}
