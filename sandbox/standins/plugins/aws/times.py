"""Time stamps as the provider writes them."""

from __future__ import annotations

from datetime import UTC, datetime


def rfc3339(moment: datetime) -> str:
    """Returns a moment as RFC 3339 in UTC, to the second: "2025-11-21T01:59:00Z"."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
