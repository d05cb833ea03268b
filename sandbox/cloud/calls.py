"""The record of API calls: what was asked, by whom and how it ended, without secrets."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import threading
from collections.abc import Callable, Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl

from sandbox.cloud.authorization import Question
from sandbox.cloud.error_forms import AwsError, answer

LOG: Final = logging.getLogger(__name__)

_SECRET: Final = re.compile(r"secret|password|userdata|privatekey|sessiontoken|webidentitytoken", re.IGNORECASE)
_CREDENTIAL: Final = re.compile(r"Credential=(?P<key>[^/,\s]+)/[^/]*/[^/]*/(?P<service>[^/,\s]*)")
_ERROR_CODE: Final = re.compile(rb"<Code>([^<]+)</Code>")
_MAX_VALUE: Final = 400

WsgiApp = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
AskIam = Callable[[str, dict[str, str]], list[Question] | None]
MountedAt = Callable[[str], list[str]]

# What a request's environment tells the applications inside this one, and they it.
ACTION: Final = "sandbox.action"
SERVICE: Final = "sandbox.service"
STRUCK: Final = "sandbox.fault"
"""Name of the fault that struck the call."""


class CallRecorder:
    """A WSGI application around another: writes one JSON line per call, and lets no traceback out."""

    def __init__(
        self,
        app: WsgiApp,
        log_file: Path,
        caller_of: Callable[[str], str],
        ask_iam: AskIam = lambda *_: None,
        mounted_at: MountedAt = lambda _: [],
    ) -> None:
        """`ask_iam` tells what EC2 would ask IAM about a call, `mounted_at` where a volume is mounted right now."""
        self._app = app
        self._caller_of = caller_of
        self._ask_iam = ask_iam
        self._mounted_at = mounted_at
        self._lock = threading.Lock()
        descriptor = os.open(log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._log = os.fdopen(descriptor, "a", encoding="utf-8")

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        params = _read_params(environ)
        seen: list[str] = []

        def remember(status: str, headers: Any, *rest: Any) -> Any:
            seen[:] = [status]
            return start_response(status, headers, *rest)

        call = self._describe(environ, params)
        environ[ACTION], environ[SERVICE] = call["action"], call["service"]
        try:
            body = b"".join(self._app(environ, remember))
        except Exception as error:
            LOG.exception("the call failed inside: %s", params.get("Action"))
            self._record(call, 500, "InternalError")
            message = f"{type(error).__name__}: {error}"
            inside = AwsError("500 Internal Server Error", "InternalError", message)
            return answer(call["service"], inside, start_response)
        status = int(seen[0].split(" ")[0])
        code = _ERROR_CODE.search(body) if status >= 400 else None
        if STRUCK in environ:
            call["fault"] = environ[STRUCK]
        self._record(call, status, code.group(1).decode() if code else "")
        return [body]

    def close(self) -> None:
        """Closes the record."""
        self._log.close()

    def _describe(self, environ: dict[str, Any], params: dict[str, str]) -> dict[str, Any]:
        """The call's record, made before the call changes what it is about."""
        found = _CREDENTIAL.search(environ.get("HTTP_AUTHORIZATION", ""))
        access_key_id, service = (found["key"], found["service"]) if found else ("", "")
        action = params.get("Action", "")
        questions = self._ask_iam(action, params) if service == "ec2" else None
        call = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "service": service,
            "action": action or f"{environ.get('REQUEST_METHOD')} {environ.get('PATH_INFO')}",
            "access_key_id": access_key_id,
            "caller": self._caller_of(access_key_id) if access_key_id else "",
            "client": environ.get("REMOTE_ADDR", ""),
            "params": without_secrets(params),
            "authorization": None if questions is None else [asdict(question) for question in questions],
        }
        if action == "DetachVolume":
            call["mounted"] = self._mounted_at(params.get("VolumeId", ""))
        return call

    def _record(self, call: dict[str, Any], status: int, error: str) -> None:
        with self._lock:
            self._log.write(json.dumps({**call, "status": status, "error": error}) + "\n")
            self._log.flush()


def without_secrets(params: dict[str, str]) -> dict[str, str]:
    """Parameters fit for a log: no action and version, no secret, nothing endless."""
    shown = {}
    for name, value in params.items():
        if name in {"Action", "Version"}:
            continue
        if _SECRET.search(name):
            shown[name] = "(hidden)"
        else:
            shown[name] = value if len(value) <= _MAX_VALUE else value[:_MAX_VALUE] + "..."
    return shown


def _read_params(environ: dict[str, Any]) -> dict[str, str]:
    if not environ.get("CONTENT_TYPE", "").startswith("application/x-www-form-urlencoded"):
        return dict(parse_qsl(environ.get("QUERY_STRING", "")))
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    environ["wsgi.input"] = io.BytesIO(body)
    return dict(parse_qsl(body.decode("utf-8", errors="replace")))
