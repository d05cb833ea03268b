"""Signature Version 4 as AWS checks it: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, Literal
from urllib.parse import quote, unquote_to_bytes

Reason = Literal["missing", "malformed", "unknown", "signature", "token", "expired", "skewed", "payload", "streamed"]

_AUTHORIZATION: Final = re.compile(
    r"AWS4-HMAC-SHA256 +Credential=(?P<key>\w{16,128})/(?P<date>\d{8})/(?P<region>[\w-]+)/(?P<service>[\w-]+)"
    r"/aws4_request, *SignedHeaders=(?P<headers>[a-z0-9_.;-]+), *Signature=(?P<signature>[0-9a-f]{64})"
)
_DATE: Final = "%Y%m%dT%H%M%SZ"
_MAX_SKEW: Final = timedelta(minutes=15)
_MUST_BE_SIGNED: Final = frozenset({"host", "x-amz-date"})
_UNSIGNED_PAYLOADS: Final = frozenset({"UNSIGNED-PAYLOAD", "STREAMING-UNSIGNED-PAYLOAD-TRAILER"})
"""What S3 takes in place of a body's hash."""


class RefusedError(Exception):
    """A request whose signature AWS would not accept, and why."""

    def __init__(self, reason: Reason, key_id: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.key_id = key_id


@dataclass(frozen=True)
class Key:
    """What belongs to an access key id: the secret, and of temporary credentials the session token and their end."""

    secret: str
    token: str = ""
    expires: datetime | None = None


KeyOf = Callable[[str], Key | None]
"""Finds the key of an access key id; None where nobody was given it."""


@dataclass(frozen=True)
class Request:
    """A request as it arrived: method, path and query undecoded, headers by their lower-case names."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    read_body: Callable[[], bytes]


def check(request: Request, key_of: KeyOf, now: datetime) -> str:
    """Returns the id of the key that was given out and that a request, as it arrived, was signed with.

    Raises:
        RefusedError: it was signed with none.
    """
    header = request.headers.get("authorization", "")
    if not header:
        raise RefusedError("missing")
    found = _AUTHORIZATION.fullmatch(header.strip())
    if found is None:
        raise RefusedError("malformed")
    key = key_of(found["key"])
    # Before the body is read: whoever has no key does not fill the memory.
    if key is None:
        raise RefusedError("unknown", found["key"])
    signed = found["headers"].split(";")
    amz_date = request.headers.get("x-amz-date", "")
    if not _MUST_BE_SIGNED.issubset(signed) or amz_date[:8] != found["date"]:
        raise RefusedError("malformed", found["key"])
    payload = _payload(request, found)
    scope = f"{found['date']}/{found['region']}/{found['service']}/aws4_request"
    canonical = _canonical(request, signed, found["service"], payload)
    text = f"AWS4-HMAC-SHA256\n{amz_date}\n{scope}\n{hashlib.sha256(canonical).hexdigest()}"
    signing_key = _signing_key(key.secret, found["date"], found["region"], found["service"])
    expected = hmac.new(signing_key, text.encode(), hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected, found["signature"]):
        raise RefusedError("signature", found["key"])
    if not hmac.compare_digest(key.token.encode(), request.headers.get("x-amz-security-token", "").encode()):
        raise RefusedError("token", found["key"])
    if key.expires is not None and key.expires <= now:
        raise RefusedError("expired", found["key"])
    if abs(_time(amz_date, found["key"]) - now) > _MAX_SKEW:
        raise RefusedError("skewed", found["key"])
    return found["key"]


def service_of(authorization: str) -> str:
    """The service that a request says it is signed for, or ""."""
    found = _AUTHORIZATION.fullmatch(authorization.strip())
    return found["service"] if found else ""


def _payload(request: Request, found: re.Match[str]) -> str:
    """The body's hash as the client signed it, which must be the body's."""
    said = request.headers.get("x-amz-content-sha256", "")
    if found["service"] == "s3":
        if said in _UNSIGNED_PAYLOADS:
            return said
        if said.startswith("STREAMING-"):
            raise RefusedError("streamed", found["key"])
    digest = hashlib.sha256(request.read_body()).hexdigest()
    if said and said != digest:
        raise RefusedError("payload", found["key"])
    return digest


def _canonical(request: Request, signed: list[str], service: str, payload: str) -> bytes:
    # Only S3 signs the path as it is sent.
    path = request.path or "/"
    path = path if service == "s3" else quote(path, safe="/~")
    headers = [f"{name}:{' '.join(request.headers.get(name, '').split())}\n" for name in signed]
    parts = [request.method, path, _canonical_query(request.query), "".join(headers), ";".join(signed), payload]
    return "\n".join(parts).encode("latin-1")


def _canonical_query(query: str) -> str:
    pairs = (part.partition("=") for part in query.split("&") if part)
    return "&".join(
        f"{name}={value}" for name, value in sorted((_encode(name), _encode(value)) for name, _, value in pairs)
    )


def _encode(text: str) -> str:
    return quote(unquote_to_bytes(text), safe="~")


def _time(amz_date: str, key_id: str) -> datetime:
    try:
        return datetime.strptime(amz_date, _DATE).replace(tzinfo=UTC)
    except ValueError as error:
        raise RefusedError("malformed", key_id) from error


@lru_cache(maxsize=256)
def _signing_key(secret: str, date: str, region: str, service: str) -> bytes:
    made = f"AWS4{secret}".encode()
    for part in (date, region, service, "aws4_request"):
        made = hmac.new(made, part.encode(), hashlib.sha256).digest()
    return made
