"""Calls that a fault strikes: what is answered instead, in AWS's own forms, or that nothing is."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable, Iterable
from typing import Any, Final

from sandbox.cloud.calls import ACTION, SERVICE, STRUCK, WsgiApp
from sandbox.cloud.error_forms import AwsError, answer, family
from sandbox.cloud.faults import Fault, Faults

# EC2 and S3 have codes of their own; the services of the query protocol share theirs, and so do those that speak JSON.
# https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
# https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
# https://docs.aws.amazon.com/IAM/latest/APIReference/CommonErrors.html
_INTERNAL: Final = "500 Internal Server Error"
_ANSWERS: Final = {
    "ec2": {
        "throttle": AwsError("503 Service Unavailable", "RequestLimitExceeded", "Request limit exceeded."),
        "error": AwsError(_INTERNAL, "InternalError", "An internal error has occurred"),
    },
    "s3": {
        "throttle": AwsError("503 Slow Down", "SlowDown", "Please reduce your request rate."),
        "error": AwsError(_INTERNAL, "InternalError", "We encountered an internal error. Please try again."),
    },
    "query": {
        "throttle": AwsError("400 Bad Request", "Throttling", "Rate exceeded"),
        "error": AwsError(
            _INTERNAL,
            "InternalFailure",
            "The request processing has failed because of an unknown error, exception or failure.",
        ),
    },
    "json": {
        "throttle": AwsError("429 Too Many Requests", "ThrottlingException", "Rate exceeded"),
        "error": AwsError(_INTERNAL, "InternalServerError", "An internal error has occurred"),
    },
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
        service = environ.get(SERVICE, "")
        return answer(service, _ANSWERS[family(service)][fault.kind], start_response)


def _drop(fault: Fault, environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    """Closes the connection; the answer is for the record of calls only."""
    time.sleep(fault.seconds)
    connection: socket.socket | None = environ.get("werkzeug.socket")
    if connection is not None:
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
    start_response("504 Gateway Timeout", [("Connection", "close")])
    return [b"<Code>NoAnswer</Code>"]
