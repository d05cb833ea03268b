"""The Nomad HTTP client: plain JSON in and out, blocking queries, errors a user can act on."""

from __future__ import annotations

import contextlib
import math
import os
import ssl
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad import permissions as nomad_permissions
from nomad_stateful.nomad.address import SOCKET, refused, without_user
from nomad_stateful.nomad.retry import FIRST_ANSWER_S, is_transient_answer
from nomad_stateful.nomad.tls import CONFIG_FIELDS, TlsError, TlsSettings, explain
from nomad_stateful.waiting import RetryPolicy

if TYPE_CHECKING:
    import httpx2

CONNECT_TIMEOUT_S = 10.0
CONFIG_ARGUMENTS = {"address": "address", "secretId": "token", "region": "region", **CONFIG_FIELDS}
"""Key of a provider's configuration -> what from_env calls it."""
# Nomad lets a blocking query run up to a sixteenth longer than asked, so that clients spread out.
# https://developer.hashicorp.com/nomad/api-docs#blocking-queries
_WAIT_JITTER = 1 / 16


class NomadError(ProviderError):
    """Nomad did not answer, or refused the request."""


class NomadUnreachable(NomadError):
    """No answer from the address."""


class NomadApiError(NomadError):
    """An answer other than success; the message is that of Nomad's own client, with a remedy where one is known."""

    retry_after_s: float = 0.0
    """How long the server asked to wait before the next request."""

    def __init__(self, status: int, body: str, remedy: str = "") -> None:
        super().__init__(f"Unexpected response code: {status} ({body})" + (f": {remedy}" if remedy else ""))
        self.status = status
        self.body = body


class NomadNotFound(NomadApiError):
    """There is nothing at the path (404)."""


def prepare() -> None:
    """Imports what the first request needs."""
    import httpx2  # noqa: F401


def is_transient(error: NomadError) -> bool:
    """Returns whether an error is transient: no answer, a restarting server, an election, too many requests."""
    if isinstance(error, NomadUnreachable):
        return True
    if not isinstance(error, NomadApiError):
        return False
    return is_transient_answer(error.status, error.body)


class NomadApi:
    """A Nomad cluster's API. Paths are relative to /v1/; safe to use from several threads.

    With a retry policy, a request that fails with a transient error is sent again. That is safe for every request made
    here: each is idempotent, a dispatch by the token that comes with it.
    """

    def __init__(
        self,
        address: str,
        token: str = "",
        *,
        region: str = "",
        namespace: str = "",
        tls: TlsSettings | None = None,
        headers: Mapping[str, str] | None = None,
        http_auth: str = "",
        retry: RetryPolicy | None = None,
    ) -> None:
        import httpx2  # a third of a plugin's start, which others wait for: see prepare()

        if why := refused(address, token):
            raise NomadError(why)
        given = address.rstrip("/")
        self.address = without_user(given)
        self.retry = retry or RetryPolicy()
        self._answered = False
        self._tls = tls or TlsSettings()
        self._with_token = bool(token)
        self._defaults = {key: value for key, value in (("region", region), ("namespace", namespace)) if value}
        user, _, password = http_auth.partition(":")
        socket = given.removeprefix(SOCKET) if given.startswith(SOCKET) else ""
        self._client = httpx2.Client(
            # Through a socket the name is of no use to anyone, but HTTP wants one.
            base_url=f"{'http://localhost' if socket else given}/v1/",
            transport=httpx2.HTTPTransport(uds=socket) if socket else None,
            headers=dict(headers or {}) | ({"X-Nomad-Token": token} if token else {}),
            auth=(user, password) if http_auth else None,
            verify=_context(self.address, self._tls),
            limits=httpx2.Limits(max_connections=None),
            trust_env=False,  # a proxy or CA bundle meant for other services must not apply
        )

    @classmethod
    def from_env(
        cls,
        overrides: Mapping[str, Any] | None = None,
        environ: Mapping[str, str] | None = None,
        retry: RetryPolicy | None = None,
    ) -> NomadApi:
        """Returns the client of the cluster that NOMAD_ADDR, NOMAD_TOKEN and the like name.

        Non-empty overrides win: names of the constructor and of TlsSettings' fields.
        """
        env = os.environ if environ is None else environ
        settings: dict[str, Any] = {
            "address": env.get("NOMAD_ADDR", ""),
            "token": env.get("NOMAD_TOKEN", ""),
            "region": env.get("NOMAD_REGION", ""),
            "http_auth": env.get("NOMAD_HTTP_AUTH", ""),
        }
        given = dict(overrides or {})
        settings |= {key: str(given[key]) for key in settings if given.get(key) not in (None, "")}
        if not settings["address"]:
            raise NomadError(
                "no Nomad address: set NOMAD_ADDR (or address on the provider), for example to http://10.0.0.5:4646"
            )
        return cls(**settings, tls=TlsSettings.of(given, env), retry=retry)

    def reach(self) -> None:
        """Raises NomadUnreachable at once if no server answers: for a first request, when the address may be wrong."""
        with contextlib.suppress(NomadApiError):
            self._send("GET", "status/leader", CONNECT_TIMEOUT_S, {})

    def get(self, path: str, *, timeout_s: float = 30, **params: Any) -> Any:
        """Returns the JSON at a path. Raises NomadNotFound, NomadApiError or NomadUnreachable."""
        return self._request("GET", path, timeout_s, params)[0]

    def find(self, path: str, **params: Any) -> Any | None:
        """Returns the JSON at a path; None where there is nothing. Raises NomadApiError or NomadUnreachable."""
        try:
            return self.get(path, **params)
        except NomadNotFound:
            return None

    def get_indexed(self, path: str, *, index: int, wait_s: float, **params: Any) -> tuple[Any | None, int]:
        """Returns the JSON of a blocking query once it is newer than `index` or `wait_s` are over, and the next index.

        The JSON is None where there is nothing. An index of 0 answers at once.
        """
        query = params | {"index": index, "wait": f"{max(1, int(wait_s * 1000))}ms"}
        try:
            body, reached = self._send("GET", path, wait_s * (1 + _WAIT_JITTER) + CONNECT_TIMEOUT_S, query)
        except _IndexedNotFound as missing:
            body, reached = None, missing.index
        # An index that falls means that the servers' state was restored: start over.
        return body, max(1, reached) if reached == 0 or reached >= index else 0

    def text(self, path: str, *, timeout_s: float = 30, **params: Any) -> str:
        """Returns the text at a path, such as a task's log. Raises NomadNotFound, NomadApiError or NomadUnreachable."""
        return self._answer("GET", path, timeout_s, params).text

    def put(self, path: str, body: Any, *, timeout_s: float = 30, **params: Any) -> Any:
        """Sends JSON; returns the answer's JSON."""
        return self._request("PUT", path, timeout_s, params, body)[0]

    def delete(self, path: str, *, timeout_s: float = 30, **params: Any) -> Any:
        """Deletes what is at the path; returns the answer's JSON."""
        return self._request("DELETE", path, timeout_s, params)[0]

    def clock(self, timeout_s: float = CONNECT_TIMEOUT_S) -> datetime | None:
        """Returns the time by the agent's clock, of which its answers tell; None where they do not.

        Needs no token. Raises NomadUnreachable.
        """
        import httpx2

        try:
            said = self._client.get("status/leader", timeout=timeout_s).headers.get("Date")
            return parsedate_to_datetime(said) if said else None
        except httpx2.HTTPError as error:
            raise NomadUnreachable(f"cannot reach Nomad at {self.address}: {error}") from error

    def close(self) -> None:
        """Closes the connections."""
        self._client.close()

    def _refusal(
        self, method: str, path: str, params: Mapping[str, Any], body: Any, response: httpx2.Response
    ) -> NomadApiError:
        said = response.text.strip()
        remedy = ""
        if response.status_code == 403:
            request = nomad_permissions.Request(method, path, {**self._defaults, **params}, body)
            remedy = nomad_permissions.remedy(request, self._token_is_known() if self._with_token else None)
        elif "HTTP request to an HTTPS server" in said:
            remedy = "use https:// in the address (NOMAD_ADDR)"
        refusal = NomadApiError(response.status_code, said, remedy)
        refusal.retry_after_s = _retry_after_s(response)
        return refusal

    def _token_is_known(self) -> bool:
        import httpx2

        # Nomad answers an unknown token as it does one without the permission.
        try:
            return self._client.get("acl/token/self", timeout=CONNECT_TIMEOUT_S).is_success
        except httpx2.HTTPError:
            return True

    def _request(
        self, method: str, path: str, timeout_s: float, params: Mapping[str, Any], body: Any = None
    ) -> tuple[Any, int]:
        """As _send, retried under the policy; raises the last error."""
        attempts = self.retry.attempts()
        while True:
            try:
                return self._send(method, path, timeout_s, params, body)
            except NomadError as error:
                wait_s = error.retry_after_s if isinstance(error, NomadApiError) else 0.0
                limit_s = math.inf if self._answered else FIRST_ANSWER_S
                if not is_transient(error) or not attempts.another(wait_s, limit_s):
                    raise

    def _send(
        self, method: str, path: str, timeout_s: float, params: Mapping[str, Any], body: Any = None
    ) -> tuple[Any, int]:
        """Returns the answer's JSON (None when empty) and its index (0 when it has none)."""
        response = self._answer(method, path, timeout_s, params, body)
        try:
            return (response.json() if response.content else None), _index(response)
        except ValueError as error:
            raise NomadError(f"{self.address} answered /v1/{path} with something other than JSON") from error

    def _answer(
        self, method: str, path: str, timeout_s: float, params: Mapping[str, Any], body: Any = None
    ) -> httpx2.Response:
        """Returns an answer that is a success. Raises NomadNotFound, NomadApiError or NomadUnreachable."""
        import httpx2

        try:
            response = self._client.request(
                method,
                path.lstrip("/"),
                params=self._defaults | {key: _text(value) for key, value in params.items() if value is not None},
                json=body,
                extensions={"sni_hostname": self._tls.server_name} if self._tls.server_name else None,
                timeout=httpx2.Timeout(timeout_s, connect=min(CONNECT_TIMEOUT_S, timeout_s)),
            )
        except httpx2.TimeoutException as error:
            raise NomadUnreachable(f"Nomad at {self.address} did not answer within {timeout_s:.0f} s") from error
        except httpx2.HTTPError as error:
            explained = explain(error, self.address, self._tls)
            if explained:
                raise NomadError(explained) from error
            raise NomadUnreachable(
                f"cannot reach Nomad at {self.address}: {error}. Check that the address is right (NOMAD_ADDR) "
                "and that a Nomad server listens there"
            ) from error
        self._answered = True
        if response.status_code == 404:
            raise _IndexedNotFound(response.text.strip(), _index(response))
        if not response.is_success:
            raise self._refusal(method, path, params, body, response)
        return response


class _IndexedNotFound(NomadNotFound):
    def __init__(self, body: str, index: int) -> None:
        super().__init__(404, body)
        self.index = index


def _index(response: httpx2.Response) -> int:
    return int(response.headers.get("X-Nomad-Index") or 0)


def _retry_after_s(response: httpx2.Response) -> float:
    """Returns the header's seconds; 0 where there is none, or a date."""
    given = response.headers.get("Retry-After", "")
    return float(given) if given.isdigit() else 0.0


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _context(address: str, tls: TlsSettings) -> ssl.SSLContext | bool:
    if not address.startswith("https:"):
        return False
    try:
        return tls.context()
    except TlsError as error:
        raise NomadError(f"cannot connect to Nomad at {address}: {error}") from None
