"""What this plugin is, and the one sentence it says about everything it does not implement."""

from __future__ import annotations

from typing import Final

from sandbox.settings import usage

VERSION: Final = "7.51.1"

OFFICIAL: Final = f"use the official plugin: `{usage.PROGRAM} up --plugins official`"


def not_implemented(what: str) -> str:
    """Returns the refusal of `what` (for example "input 'x' of aws:ebs/volume:Volume"), naming the remedy."""
    return f"the embedded aws plugin does not implement {what}; {OFFICIAL}"
