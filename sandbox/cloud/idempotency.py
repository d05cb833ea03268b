"""Client tokens: EC2 gives what the same request made before and refuses any other; EFS refuses every second one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final

from moto.efs.exceptions import EFSError

from sandbox.machine.errors import ApiError

_NO_PARAMETERS: Final = frozenset({"ClientToken", "DryRun", "TagSpecifications"})


@dataclass(frozen=True)
class TokenRequest:
    """A request's token, "" where it has none or makes nothing, and what it asks for."""

    token: str = ""
    asked: Mapping[str, Any] = field(default_factory=dict)


REQUEST: Final[ContextVar[TokenRequest]] = ContextVar("request", default=TokenRequest())  # noqa: B039 - it is frozen
"""The request in hand."""


def token_request(request: Any) -> TokenRequest:
    """Returns what counts of one of moto's EC2 requests. Tags have no order: the EBS driver sends them in any."""
    if request.params.get("DryRun"):
        return TokenRequest()
    asked = {name: value for name, value in request.params.items() if name not in _NO_PARAMETERS}
    tags = request._parse_tag_specification()  # noqa: SLF001 - moto keeps the request to itself
    return TokenRequest(str(request.params.get("ClientToken") or ""), {**asked, "tags": tags})


class Tokens:
    """What one action made, by the token that it was asked with."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[Mapping[str, Any], Any]] = {}
        self._lock = threading.Lock()
        self._in_hand: dict[str, threading.Lock] = {}

    def once(self, make: Callable[[], Any], is_there: Callable[[Any], bool] = lambda _: True) -> Any:
        """Returns what the request in hand made before, else has it made.

        Raises:
            ApiError: its token came with other parameters or tags before.
        """
        now = REQUEST.get()
        if not now.token:
            return make()
        with self._lock:
            in_hand = self._in_hand.setdefault(now.token, threading.Lock())
        with in_hand:
            asked, made = self._made.get(now.token, (now.asked, None))
            if asked != now.asked:
                message = "The client token was used before, with other parameters"
                raise ApiError("IdempotentParameterMismatch", message)
            if made is None or not is_there(made):
                made = make()
                self._made[now.token] = (now.asked, made)
            return made

    def run_instances(self, original: Callable[..., Any], request: Any) -> Any:
        """RunInstances: a token launches once."""
        return self.once(lambda: original(request))


def create_access_point(original: Callable[..., Any], backend: Any, client_token: str, **kwargs: Any) -> Any:
    """CreateAccessPoint: a token makes one."""
    for known in backend.access_points.values():
        if known.client_token == client_token:
            message = f"Access point {known.access_point_id} was made with this client token."
            error = EFSError("AccessPointAlreadyExists", message)
            error.code = 409
            raise error
    return original(backend, client_token, **kwargs)
