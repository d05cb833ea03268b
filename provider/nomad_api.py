"""The one Nomad HTTP client: plain JSON in and out, blocking queries, errors a user can act on."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from typing import Any

import httpx

from provider.rpc.values import ProviderError

CONNECT_TIMEOUT_S = 10.0
# Nomad lets a blocking query run up to a sixteenth longer than asked, so that clients spread out.
# https://developer.hashicorp.com/nomad/api-docs#blocking-queries
_WAIT_JITTER = 1 / 16
_TRUE = frozenset({"1", "t", "true", "yes"})


class NomadError(ProviderError):
    """Nomad could not be asked, or said no."""


class NomadUnreachable(NomadError):  # noqa: N818 - says it already
    """No answer from the address."""


class NomadApiError(NomadError):
    """An answer other than success; the message has the form of Nomad's own client."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(f"Unexpected response code: {status} ({body})")
        self.status = status
        self.body = body


class NomadNotFound(NomadApiError):  # noqa: N818 - says it already
    """The thing asked for does not exist (404)."""


class NomadApi:
    """A Nomad cluster's API. Paths are relative to /v1/; safe to use from several threads."""

    def __init__(
        self,
        address: str,
        token: str = "",
        *,
        region: str = "",
        namespace: str = "",
        ca_file: str = "",
        client_cert: str = "",
        client_key: str = "",
        skip_verify: bool = False,
        headers: Mapping[str, str] | None = None,
        http_auth: str = "",
    ) -> None:
        self.address = address.rstrip("/")
        self._defaults = {key: value for key, value in (("region", region), ("namespace", namespace)) if value}
        user, _, password = http_auth.partition(":")
        self._client = httpx.Client(
            base_url=f"{self.address}/v1/",
            headers=dict(headers or {}) | ({"X-Nomad-Token": token} if token else {}),
            auth=(user, password) if http_auth else None,
            verify=_tls(self.address, ca_file, client_cert, client_key, skip_verify),
            limits=httpx.Limits(max_connections=None),
            trust_env=False,  # a proxy or a CA bundle meant for other services must not get in between
        )

    @classmethod
    def from_env(cls, overrides: Mapping[str, Any] | None = None) -> NomadApi:
        """The cluster NOMAD_ADDR, NOMAD_TOKEN and the like name; non-empty overrides (constructor names) win."""
        env = os.environ.get
        settings: dict[str, Any] = {
            "address": env("NOMAD_ADDR", ""),
            "token": env("NOMAD_TOKEN", ""),
            "region": env("NOMAD_REGION", ""),
            "ca_file": env("NOMAD_CACERT", ""),
            "client_cert": env("NOMAD_CLIENT_CERT", ""),
            "client_key": env("NOMAD_CLIENT_KEY", ""),
            "skip_verify": env("NOMAD_SKIP_VERIFY", "").lower() in _TRUE,
            "http_auth": env("NOMAD_HTTP_AUTH", ""),
        }
        settings |= {key: value for key, value in (overrides or {}).items() if value not in (None, "")}
        if not settings["address"]:
            raise NomadError("no Nomad address: set NOMAD_ADDR, for example to http://10.0.0.5:4646")
        return cls(**settings)

    def get(self, path: str, *, timeout_s: float = 30, **params: Any) -> Any:
        """The JSON at a path. Raises NomadNotFound, NomadApiError or NomadUnreachable."""
        return self._request("GET", path, timeout_s, params)[0]

    def get_indexed(self, path: str, *, index: int, wait_s: float, **params: Any) -> tuple[Any | None, int]:
        """A blocking query: the JSON (None if there is none) once it is newer than `index` or `wait_s` are over.

        Also gives the index to ask with next time. An index of 0 answers at once.
        """
        query = params | {"index": index, "wait": f"{max(1, int(wait_s * 1000))}ms"}
        try:
            body, reached = self._request("GET", path, wait_s * (1 + _WAIT_JITTER) + CONNECT_TIMEOUT_S, query)
        except _IndexedNotFound as missing:
            body, reached = None, missing.index
        # An index that falls means that the servers' state was restored: start over.
        return body, max(1, reached) if reached == 0 or reached >= index else 0

    def put(self, path: str, body: Any, *, timeout_s: float = 30, **params: Any) -> Any:
        """Sends JSON; the answer's JSON."""
        return self._request("PUT", path, timeout_s, params, body)[0]

    def delete(self, path: str, *, timeout_s: float = 30, **params: Any) -> Any:
        """Deletes what is at the path; the answer's JSON."""
        return self._request("DELETE", path, timeout_s, params)[0]

    def close(self) -> None:
        """Closes the connections."""
        self._client.close()

    def _request(
        self, method: str, path: str, timeout_s: float, params: Mapping[str, Any], body: Any = None
    ) -> tuple[Any, int]:
        """The answer's JSON (None when empty) and its index (0 when it has none)."""
        try:
            response = self._client.request(
                method,
                path.lstrip("/"),
                params=self._defaults | {key: _text(value) for key, value in params.items() if value is not None},
                json=body,
                timeout=httpx.Timeout(timeout_s, connect=min(CONNECT_TIMEOUT_S, timeout_s)),
            )
        except httpx.TimeoutException as error:
            raise NomadUnreachable(f"Nomad at {self.address} did not answer within {timeout_s:.0f} s") from error
        except httpx.HTTPError as error:
            raise NomadUnreachable(
                f"cannot reach Nomad at {self.address}: {error}. Check that the address is right (NOMAD_ADDR) "
                "and that a Nomad server listens there"
            ) from error
        index = int(response.headers.get("X-Nomad-Index") or 0)
        if response.status_code == 404:
            raise _IndexedNotFound(response.text.strip(), index)
        if not response.is_success:
            raise NomadApiError(response.status_code, response.text.strip())
        try:
            return (response.json() if response.content else None), index
        except ValueError as error:
            raise NomadError(f"{self.address} answered /v1/{path} with something other than JSON") from error


class _IndexedNotFound(NomadNotFound):
    def __init__(self, body: str, index: int) -> None:
        super().__init__(404, body)
        self.index = index


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _tls(address: str, ca_file: str, cert: str, key: str, skip_verify: bool) -> ssl.SSLContext | bool:
    if not address.startswith("https:"):
        return False
    try:
        context = ssl.create_default_context(cafile=ca_file or None)
        if cert:
            context.load_cert_chain(cert, key or None)
    except OSError as error:  # ssl.SSLError is one
        files = ", ".join(name for name in (ca_file, cert, key) if name) or "the system's CA store"
        raise NomadError(f"the TLS files for Nomad at {address} cannot be used ({files}): {error}") from error
    if skip_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
