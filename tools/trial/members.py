"""What the members of a replication group say of themselves: the answers of their agents (docs/agent.md)."""

from __future__ import annotations

import contextlib
import http.client
import json
from typing import Any, Final

AGENT_PORT: Final = 13307
MEMBER_PORT: Final = 13306
READ_PORT: Final = 3307
_WITHIN_S: Final = 1.0


def said(host: str) -> dict[str, Any]:
    """What the member at an address says of itself; nothing where it does not answer."""
    found: dict[str, Any] = json.loads(_asked(host, "/")[1] or "{}")
    return found


def is_primary(host: str) -> bool:
    """Whether the member at an address says to routers that it may write."""
    return _asked(host, "/primary")[0] == http.client.OK


def _asked(host: str, path: str) -> tuple[int, str]:
    with contextlib.suppress(OSError, http.client.HTTPException):
        connection = http.client.HTTPConnection(host, AGENT_PORT, timeout=_WITHIN_S)
        with contextlib.closing(connection):
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
    return 0, ""
