"""The instance metadata service, versions 1 and 2, on 169.254.169.254 of one instance.

It is one hop away from its instance, in a network namespace of its own: a token's packets live for as many hops as the
instance's metadata options say (HttpPutResponseHopLimit), so with 1 they do not reach a container behind a bridge.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from sandbox.machine import metadata, namespaces, network
from sandbox.machine.errors import CloudError
from sandbox.machine.metadata import InstanceFacts

ADDRESS: Final = "169.254.169.254"
_PORT: Final = 80
_MAX_TTL_S: Final = 21600
_HOPS: Final = 64
_TOKEN_HEADER: Final = "X-aws-ec2-metadata-token"
_TTL_HEADER: Final = "X-aws-ec2-metadata-token-ttl-seconds"


class Tokens:
    """The session tokens that a service has handed out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._expiry: dict[str, float] = {}

    def issue(self, ttl_s: int) -> str:
        """A new token; expired ones are forgotten."""
        now = self._clock()
        self._expiry = {token: end for token, end in self._expiry.items() if end > now}
        token = secrets.token_urlsafe(40)
        self._expiry[token] = now + ttl_s
        return token

    def is_valid(self, token: str) -> bool:
        """Whether the token was issued here and has not expired."""
        return self._expiry.get(token, 0.0) > self._clock()


@dataclass(frozen=True)
class Answer:
    """A response of the service."""

    status: int
    body: str = ""
    ttl_s: int | None = None


class MetadataService:
    """Answers requests for one instance; how they arrive is not its business."""

    def __init__(self, facts: Callable[[], InstanceFacts], credentials: Callable[[], str]) -> None:
        self._facts = facts
        self._credentials = credentials
        self._tokens = Tokens()

    @property
    def hop_limit(self) -> int:
        """How many hops the answer to a PUT lives."""
        return self._facts().hop_limit

    def put(self, path: str, ttl: str | None, *, forwarded: bool) -> Answer:
        """PUT /latest/api/token."""
        if not self._facts().endpoint_enabled or forwarded:
            return Answer(403)
        if path.rstrip("/") != "/latest/api/token":
            return Answer(404)
        if ttl is None or not ttl.isdecimal() or not 1 <= int(ttl) <= _MAX_TTL_S:
            return Answer(400)
        return Answer(200, self._tokens.issue(int(ttl)), int(ttl))

    def get(self, path: str, token: str | None) -> Answer:
        """GET of anything."""
        facts = self._facts()
        if not facts.endpoint_enabled:
            return Answer(403)
        if token is None and facts.token_required:
            return Answer(401)
        if token is not None and not self._tokens.is_valid(token):
            return Answer(401)
        body = metadata.lookup(metadata.build(facts, self._credentials), path.partition("?")[0])
        return Answer(404) if body is None else Answer(200, body)


class ImdsServer:
    """Serves a metadata service to the instance of a process."""

    def __init__(self, pid: int, service: MetadataService) -> None:
        self._socket = socket_beside(pid)
        self._server = _Server((ADDRESS, _PORT), _handler(service), bind_and_activate=False)
        self._server.socket.close()
        threading.Thread(target=self._accept, name=f"imds-{pid}", daemon=True).start()

    def close(self) -> None:
        """Stops listening and releases the namespace."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, client = self._socket.accept()
            except OSError:
                return
            self._server.process_request(connection, client)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""


def socket_beside(pid: int) -> socket.socket:
    """A listening socket in a network namespace that only the one of a process is connected to, and that goes with it.

    Raises:
        CloudError: the process's namespace is gone or the address cannot be had.
    """
    try:
        namespace = namespaces.new_network()
        try:
            path = Path(f"/proc/{os.getpid()}/fd/{namespace}")
            network.connect_metadata(pid, path, ADDRESS)
            return namespaces.inside_of(path, "net", lambda: socket.create_server((ADDRESS, _PORT), backlog=64))
        finally:
            os.close(namespace)
    except OSError as error:
        raise CloudError(f"the metadata service cannot listen beside the instance: {error.strerror}") from error


def _handler(service: MetadataService) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        server_version = "EC2ws"
        sys_version = ""
        timeout = 30

        def do_PUT(self) -> None:
            """Hands out a token."""
            self._live_for(service.hop_limit)
            forwarded = "X-Forwarded-For" in self.headers
            self._answer(service.put(self.path, self.headers.get(_TTL_HEADER), forwarded=forwarded))

        def do_GET(self) -> None:
            """Reads the metadata."""
            self._live_for(_HOPS)
            self._answer(service.get(self.path, self.headers.get(_TOKEN_HEADER)))

        def _live_for(self, hops: int) -> None:
            self.connection.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, hops)

        def _answer(self, answer: Answer) -> None:
            body = answer.body.encode()
            self.send_response(answer.status)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Content-Length", str(len(body)))
            if answer.ttl_s is not None:
                self.send_header(_TTL_HEADER, str(answer.ttl_s))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Requests are not logged: tokens and credentials pass here."""

    return Handler
