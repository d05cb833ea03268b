"""The service's API in front of moto's: what is signed for dlm is answered here, and the clock is moved here."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any, Final
from urllib.parse import parse_qs, unquote

from sandbox.cloud.lifecycle.clock import Clock
from sandbox.cloud.lifecycle.engine import Backend, Engine
from sandbox.cloud.lifecycle.policies import Policies, RefusedError

CLOCK_PATH: Final = "/sandbox/clock"
_SIGNED_FOR: Final = re.compile(r"Credential=[^/,\s]+/[^/]*/(?P<region>[^/]*)/dlm/aws4_request")

RoleExists = Callable[[str], bool]
"""Whether the service may assume a role."""

WsgiApp = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class LifecycleApi:
    """A WSGI application around another."""

    def __init__(
        self,
        app: WsgiApp,
        backend: Backend,
        role_exists: RoleExists,
        account_id: str,
        clock: Clock | None = None,
    ) -> None:
        self._app, self._account_id, self._role_exists = app, account_id, role_exists
        self._clock = clock or Clock()
        self._policies: dict[str, Policies] = {}
        self._engine = Engine(self._clock, self._policies, backend)
        self._lock = threading.Lock()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ.get("PATH_INFO") == CLOCK_PATH:
            return _answer(start_response, 200, self._move_clock(environ))
        signed = _SIGNED_FOR.search(environ.get("HTTP_AUTHORIZATION", ""))
        if signed is None:
            return self._app(environ, start_response)
        try:
            with self._lock:
                return _answer(start_response, 200, self._do(environ, self._of(signed["region"])))
        except RefusedError as refused:
            body = {"Code": refused.code, "Message": str(refused)}
            return _answer(start_response, refused.status, body, refused.code)

    def follow(self) -> None:
        """Does what has become due; to be called every now and then."""
        self._engine.catch_up()

    def everything(self) -> list[str]:
        """Returns the ids of the policies of all regions."""
        return [policy.policy_id for policies in self._policies.values() for policy in policies.all]

    def clear(self) -> None:
        """Forgets every policy."""
        self._policies.clear()

    def _of(self, region: str) -> Policies:
        prefix = f"arn:aws:dlm:{region}:{self._account_id}"
        return self._policies.setdefault(region, Policies(prefix, region, self._role_exists))

    def _move_clock(self, environ: dict[str, Any]) -> dict[str, Any]:
        if environ.get("REQUEST_METHOD") == "POST":
            # First what is due by now: policies follow the schedule from where they were.
            events = self._engine.catch_up()
            self._clock.forward(timedelta(seconds=float(_body(environ)["forward_s"])))
            events += self._engine.catch_up()
        else:
            events = []
        now = self._clock.now().isoformat(timespec="seconds")
        return {"now": now, "events": [str(event) for event in events]}

    def _do(self, environ: dict[str, Any], policies: Policies) -> dict[str, Any]:
        method, path = environ.get("REQUEST_METHOD", ""), unquote(environ.get("PATH_INFO", ""))
        kind, _, name = path.strip("/").partition("/")
        now = self._clock.now()
        match (method, kind, bool(name)):
            case ("POST", "policies", False):
                return {"PolicyId": policies.create(_body(environ), now).policy_id}
            case ("GET", "policies", False):
                shown = [policy.shown() for policy in policies.all]
                keys = ("PolicyId", "Description", "State", "Tags", "DefaultPolicy")
                return {"Policies": [{key: one[key] for key in keys} for one in shown]}
            case ("GET", "policies", True):
                return {"Policy": policies.get(name).shown()}
            case ("PATCH", "policies", True):
                # What is due by the old rules is done by them.
                self._engine.catch_up()
                policies.update(name, _body(environ), now)
            case ("DELETE", "policies", True):
                self._engine.catch_up()
                policies.delete(name)
            case ("GET", "tags", True):
                return {"Tags": policies.by_arn(name).tags}
            case ("POST", "tags", True):
                policies.by_arn(name).tags |= _body(environ)["Tags"]
            case ("DELETE", "tags", True):
                for key in parse_qs(environ.get("QUERY_STRING", "")).get("tagKeys", []):
                    policies.by_arn(name).tags.pop(key, None)
            case _:
                raise RefusedError("InvalidRequestException", f"{method} {path} is not known to the sandbox")
        return {}


def _body(environ: dict[str, Any]) -> dict[str, Any]:
    text = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    parsed: dict[str, Any] = json.loads(text or b"{}")
    return parsed


def _answer(start_response: Callable[..., Any], status: int, body: dict[str, Any], code: str = "") -> list[bytes]:
    data = json.dumps(body).encode()
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(data)))]
    if code:
        headers.append(("x-amzn-ErrorType", code))
    start_response(f"{status} {'OK' if status < 300 else 'Refused'}", headers)
    return [data]
