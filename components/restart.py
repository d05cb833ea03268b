"""How often a job restarts on the same client, as every component with a service takes it."""

from typing import TypedDict


class JobRestart(TypedDict):
    """Restarts on the same client."""

    attempts: int
    """Restarts within the interval."""
    interval: str
    """Window in which restarts are counted."""
    delay: str
    """Pause before a restart."""
