"""The gate before the API: what is not signed with a key of this sandbox is refused as AWS refuses it."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Callable, Container, Iterable
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import parse_qs

from sandbox.cloud import signatures
from sandbox.cloud.calls import WsgiApp
from sandbox.cloud.error_forms import AwsError, answer, family
from sandbox.cloud.signatures import KeyOf, Reason, RefusedError, Request

LOG: Final = logging.getLogger(__name__)

_FORM: Final = "application/x-www-form-urlencoded"
_MAX_UNSIGNED: Final = 65_536
_VERSIONS: Final = {"2016-11-15": "ec2", "2010-05-08": "iam", "2011-06-15": "sts"}
# moto answers these whatever a call is signed for: its own pages, and a metadata service that is nobody's.
_MOTOS_OWN: Final = re.compile(r"/+(moto-api|favicon\.ico|latest/(meta-data|api)/)")

_FORBIDDEN: Final = "403 Forbidden"
_BAD: Final = "400 Bad Request"
_CROSS_ORIGIN: Final = AwsError(_FORBIDDEN, "AccessForbidden", "CORSResponse: CORS is not enabled.")
_CLOSED: Final = AwsError(_FORBIDDEN, "AccessDenied", "These pages are closed in the sandbox.")

# https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
_EC2_UNKNOWN: Final = AwsError(
    "401 Unauthorized", "AuthFailure", "AWS was not able to validate the provided access credentials"
)
_EC2_EXPIRED: Final = AwsError(_BAD, "RequestExpired", "Request has expired.")
_EC2: Final[dict[Reason, AwsError]] = {
    "missing": AwsError(_FORBIDDEN, "MissingAuthenticationToken", "Request is missing Authentication Token"),
    "malformed": AwsError(_BAD, "IncompleteSignature", "The request signature does not conform to AWS standards."),
    "unknown": _EC2_UNKNOWN,
    "expired": _EC2_EXPIRED,
    "skewed": _EC2_EXPIRED,
}
# https://docs.aws.amazon.com/IAM/latest/APIReference/CommonErrors.html
_MISMATCH: Final = (
    "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key "
    "and signing method. Consult the service documentation for details."
)
_QUERY: Final[dict[Reason, AwsError]] = {
    "missing": AwsError(_FORBIDDEN, "MissingAuthenticationToken", "Request is missing Authentication Token"),
    "malformed": AwsError(_BAD, "IncompleteSignature", "The request signature does not conform to AWS standards."),
    "unknown": AwsError(_FORBIDDEN, "InvalidClientTokenId", "The security token included in the request is invalid."),
    "token": AwsError(_FORBIDDEN, "InvalidClientTokenId", "The security token included in the request is invalid."),
    "expired": AwsError(_FORBIDDEN, "ExpiredToken", "The security token included in the request is expired"),
    "signature": AwsError(_FORBIDDEN, "SignatureDoesNotMatch", _MISMATCH),
}
# https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
_S3_MISMATCH: Final = (
    "The request signature we calculated does not match the signature you provided. Check your key and signing method."
)
_S3: Final[dict[Reason, AwsError]] = {
    "missing": AwsError(_FORBIDDEN, "AccessDenied", "Access Denied"),
    "malformed": AwsError(_BAD, "AuthorizationHeaderMalformed", "The authorization header is malformed"),
    "unknown": AwsError(
        _FORBIDDEN, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records."
    ),
    "token": AwsError(_BAD, "InvalidToken", "The provided token is malformed or otherwise invalid."),
    "expired": AwsError(_BAD, "ExpiredToken", "The provided token has expired."),
    "skewed": AwsError(
        _FORBIDDEN,
        "RequestTimeTooSkewed",
        "The difference between the request time and the current time is too large.",
    ),
    "payload": AwsError(
        _BAD,
        "XAmzContentSHA256Mismatch",
        "The provided 'x-amz-content-sha256' header does not match what was computed.",
    ),
    "streamed": AwsError(
        "501 Not Implemented", "NotImplemented", "A header you provided implies functionality that is not implemented."
    ),
    "signature": AwsError(_FORBIDDEN, "SignatureDoesNotMatch", _S3_MISMATCH),
}
_JSON: Final[dict[Reason, AwsError]] = {
    "missing": AwsError(_FORBIDDEN, "MissingAuthenticationTokenException", "Missing Authentication Token"),
    "malformed": AwsError(_BAD, "IncompleteSignatureException", "The request signature is incomplete."),
    "unknown": AwsError(
        _FORBIDDEN, "UnrecognizedClientException", "The security token included in the request is invalid."
    ),
    "token": AwsError(
        _FORBIDDEN, "UnrecognizedClientException", "The security token included in the request is invalid."
    ),
    "expired": AwsError(_FORBIDDEN, "ExpiredTokenException", "The security token included in the request is expired"),
    "signature": AwsError(_FORBIDDEN, "InvalidSignatureException", _MISMATCH),
}
_REFUSALS: Final = {
    "ec2": (_EC2, _EC2_UNKNOWN),
    "s3": (_S3, _S3["signature"]),
    "query": (_QUERY, _QUERY["signature"]),
    "json": (_JSON, _JSON["signature"]),
}


class Gate:
    """A WSGI application around another, which sees only calls signed with a key that the sandbox gave out."""

    def __init__(
        self,
        app: WsgiApp,
        key_of: KeyOf,
        owner: str,
        owners_pages: Container[str] = (),
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Paths in `owners_pages` answer the access key `owner` alone."""
        self._app = app
        self._key_of = key_of
        self._owner = owner
        self._owners_pages = owners_pages
        self._now = now

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        service = signatures.service_of(environ.get("HTTP_AUTHORIZATION", ""))
        # Only browsers send it, on behalf of a page: none is served here.
        if "HTTP_ORIGIN" in environ:
            return answer(service or "s3", _CROSS_ORIGIN, start_response)
        if _MOTOS_OWN.match(environ.get("PATH_INFO", "")):
            return answer(service or "s3", _CLOSED, start_response)
        try:
            key_id = signatures.check(_request(environ), self._key_of, self._now())
        except RefusedError as refused:
            service = service or _meant(environ)
            LOG.warning(
                "refused a call of %s to %s: %s %s",
                environ.get("REMOTE_ADDR", ""),
                service,
                refused.reason,
                refused.key_id,
            )
            answers, otherwise = _REFUSALS[family(service)]
            return answer(service, answers.get(refused.reason, otherwise), start_response)
        if environ.get("PATH_INFO") in self._owners_pages and key_id != self._owner:
            return answer(service, _CLOSED, start_response)
        return self._app(environ, _without_cors(start_response))


def _request(environ: dict[str, Any]) -> Request:
    target = str(environ.get("RAW_URI") or environ.get("PATH_INFO", ""))
    path, _, query = target.partition("?")
    names = {"CONTENT_TYPE": "content-type", "CONTENT_LENGTH": "content-length"}
    headers = {
        names.get(name) or name.removeprefix("HTTP_").replace("_", "-").lower(): value
        for name, value in environ.items()
        if name in names or name.startswith("HTTP_")
    }
    return Request(environ.get("REQUEST_METHOD", ""), path, query, headers, lambda: _read(environ))


def _read(environ: dict[str, Any]) -> bytes:
    """Returns the body, and leaves it to be read once more."""
    stream = environ["wsgi.input"]
    body: bytes = stream.read() if environ.get("wsgi.input_terminated") else stream.read(_length(environ))
    environ["wsgi.input"] = io.BytesIO(body)
    return body


def _length(environ: dict[str, Any]) -> int:
    text = str(environ.get("CONTENT_LENGTH") or "0")
    return int(text) if text.isdecimal() else 0


def _meant(environ: dict[str, Any]) -> str:
    """The service that a call without a signature is for, by the version of its API."""
    text = str(environ.get("QUERY_STRING", ""))
    if environ.get("CONTENT_TYPE", "").startswith(_FORM) and _length(environ) <= _MAX_UNSIGNED:
        text = environ["wsgi.input"].read(_length(environ)).decode("utf-8", errors="replace")
    version = parse_qs(text).get("Version", [""])[0]
    return _VERSIONS.get(version, "s3")


def _without_cors(start_response: Callable[..., Any]) -> Callable[..., Any]:
    def start(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
        kept = [(name, value) for name, value in headers if not name.lower().startswith("access-control-")]
        return start_response(status, kept, *rest)

    return start
