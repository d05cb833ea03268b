"""Errors in AWS's own forms: EC2's, S3's, the query protocol's (IAM, STS), and JSON for the other services."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from xml.sax.saxutils import escape

_XMLNS: Final = {
    "iam": "https://iam.amazonaws.com/doc/2010-05-08/",
    "sts": "https://sts.amazonaws.com/doc/2011-06-15/",
}


@dataclass(frozen=True)
class AwsError:
    """What a service answers: the status line, and the error's code and message."""

    status: str
    code: str
    message: str


def family(service: str) -> str:
    """Whose form of errors a service has: ec2, s3, query or json."""
    return service if service in {"ec2", "s3"} else "query" if service in _XMLNS else "json"


def answer(service: str, error: AwsError, start_response: Callable[..., Any]) -> list[bytes]:
    """Answers a call with an error in the service's form."""
    headers = [("Content-Type", "text/xml;charset=UTF-8")]
    match family(service):
        case "ec2":
            body = _xml(f"<Response><Errors>{_fields(error)}</Errors><RequestID>{uuid.uuid4()}</RequestID></Response>")
        case "s3":
            body = _xml(_fields(error, after=f"<RequestId>{uuid.uuid4()}</RequestId>"))
        case "query":
            blame = "Sender" if error.status.startswith("4") else "Receiver"
            inner = _fields(error, before=f"<Type>{blame}</Type>") + f"<RequestId>{uuid.uuid4()}</RequestId>"
            body = _xml(f'<ErrorResponse xmlns="{_XMLNS[service]}">{inner}</ErrorResponse>')
        case _:
            body = json.dumps({"message": error.message, "ErrorCode": error.code}).encode()
            headers = [("Content-Type", "application/json"), ("x-amzn-ErrorType", error.code)]
    start_response(error.status, [*headers, ("Content-Length", str(len(body)))])
    return [body]


def _fields(error: AwsError, before: str = "", after: str = "") -> str:
    return f"<Error>{before}<Code>{error.code}</Code><Message>{escape(error.message)}</Message>{after}</Error>"


def _xml(text: str) -> bytes:
    return ('<?xml version="1.0" encoding="UTF-8"?>\n' + text).encode()
