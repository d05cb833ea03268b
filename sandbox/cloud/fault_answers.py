"""Calls that a fault strikes: what is answered instead, in AWS's own forms, or that nothing is."""

from __future__ import annotations

import contextlib
import re
import socket
import time
import uuid
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final
from xml.sax.saxutils import escape

from sandbox.cloud.calls import ACTION, SERVICE, STRUCK, WsgiApp
from sandbox.cloud.faults import Fault, Faults

_XMLNS: Final = {
    "iam": "https://iam.amazonaws.com/doc/2010-05-08/",
    "sts": "https://sts.amazonaws.com/doc/2011-06-15/",
}
# EC2 and S3 have codes of their own; the services of the query protocol share theirs.
# https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
# https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
# https://docs.aws.amazon.com/IAM/latest/APIReference/CommonErrors.html
_EC2: Final = {
    "throttle": ("503 Service Unavailable", "RequestLimitExceeded", "Request limit exceeded."),
    "error": ("500 Internal Server Error", "InternalError", "An internal error has occurred"),
}
_S3: Final = {
    "throttle": ("503 Slow Down", "SlowDown", "Please reduce your request rate."),
    "error": ("500 Internal Server Error", "InternalError", "We encountered an internal error. Please try again."),
}
_QUERY: Final = {
    "throttle": ("400 Bad Request", "Throttling", "Rate exceeded"),
    "error": (
        "500 Internal Server Error",
        "InternalFailure",
        "The request processing has failed because of an unknown error, exception or failure.",
    ),
}


class FaultyApi:
    """A WSGI application around another, which answers what a fault says where one strikes."""

    def __init__(self, app: WsgiApp, faults: Faults) -> None:
        self._app = app
        self._faults = faults

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        fault = self._faults.strike(environ.get(ACTION, ""))
        if fault is None:
            return self._app(environ, start_response)
        environ[STRUCK] = fault.name
        if fault.kind == "delay":
            time.sleep(fault.seconds)
            return self._app(environ, start_response)
        if fault.after:
            # Whatever the call came to, its caller is not told.
            b"".join(self._app(environ, lambda *_: None))
        if fault.kind == "drop":
            return _drop(fault, environ, start_response)
        return _refuse(environ.get(SERVICE, ""), fault, start_response)


def _drop(fault: Fault, environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    """Closes the connection; the answer is for the record of calls only."""
    time.sleep(fault.seconds)
    connection: socket.socket | None = environ.get("werkzeug.socket")
    if connection is not None:
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
    start_response("504 Gateway Timeout", [("Connection", "close")])
    return [b"<Code>NoAnswer</Code>"]


def _refuse(service: str, fault: Fault, start_response: Callable[..., Any]) -> list[bytes]:
    answers, form = (_S3, _s3_error) if service == "s3" else (_EC2, _ec2_error)
    if service in _XMLNS:
        answers, form = _QUERY, partial(_query_error, service)
    status, code, message = answers[fault.kind]
    data = ('<?xml version="1.0" encoding="UTF-8"?>\n' + form(status, code, escape(message))).encode()
    start_response(status, [("Content-Type", "text/xml;charset=UTF-8"), ("Content-Length", str(len(data)))])
    return [data]


def _ec2_error(_status: str, code: str, message: str) -> str:
    error = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>"
    return f"<Response><Errors>{error}</Errors><RequestID>{uuid.uuid4()}</RequestID></Response>"


def _s3_error(_status: str, code: str, message: str) -> str:
    return f"<Error><Code>{code}</Code><Message>{message}</Message><RequestId>{uuid.uuid4()}</RequestId></Error>"


def _query_error(service: str, status: str, code: str, message: str) -> str:
    blame = "Sender" if re.match("4", status) else "Receiver"
    error = f"<Error><Type>{blame}</Type><Code>{code}</Code><Message>{message}</Message></Error>"
    request = f"<RequestId>{uuid.uuid4()}</RequestId>"
    return f'<ErrorResponse xmlns="{_XMLNS[service]}">{error}{request}</ErrorResponse>'
