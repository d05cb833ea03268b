"""A reverse proxy in front of Nomad's HTTP API that answers badly when told to; blocking queries pass through it."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Literal

import httpx2

Kind = Literal["status", "slow", "reset"]
_HOP_BY_HOP: Final = frozenset(
    {"connection", "content-encoding", "content-length", "date", "host", "keep-alive", "server", "transfer-encoding"}
)
_NO_TIMEOUT: Final = httpx2.Timeout(None, connect=5)
# Each blocking query holds a connection.
_NO_LIMITS: Final = httpx2.Limits()


@dataclass(frozen=True)
class BadAnswer:
    """What happens to a request.

    status: it is answered with `status` and `text`. slow: it is answered after `seconds`. reset: the connection is
    reset in the middle of the answer, so that the request took effect.
    """

    kind: Kind
    status: int = 500
    text: str = "No cluster leader"
    seconds: float = 0.0
    method: str = "*"
    path: str = "*"
    """Pattern of the path, without a query."""
    count: int = 0
    """How many requests it happens to; 0 is all."""


class NomadProxy:
    """Passes requests on to `upstream`, but for the bad answers in force."""

    def __init__(self, upstream: str) -> None:
        self._client = httpx2.Client(base_url=upstream, timeout=_NO_TIMEOUT, limits=_NO_LIMITS, trust_env=False)
        self._lock = threading.Lock()
        self._bad: dict[BadAnswer, int] = {}
        self._connections: set[socket.socket] = set()
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None
        self._port = 0
        self.struck: Counter[Kind] = Counter()
        """How many requests each kind of bad answer happened to."""
        self.times: list[float] = []
        """When each request arrived, on time.monotonic()'s clock."""

    @property
    def address(self) -> str:
        """What NOMAD_ADDR has to be."""
        return f"http://127.0.0.1:{self._port}"

    def answer_badly(self, bad: BadAnswer) -> None:
        """From now on, until `answer_well`."""
        with self._lock:
            self._bad[bad] = 0

    def answer_well(self) -> None:
        """Ends every bad answer."""
        with self._lock:
            self._bad.clear()

    def listen(self) -> None:
        """Takes connections, on the same port as before."""
        server = ThreadingHTTPServer(("127.0.0.1", self._port), type("Handler", (_Handler,), {"proxy": self}))
        server.daemon_threads = True
        self._port = server.server_port
        self._server = server
        self._thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def deafen(self) -> None:
        """Refuses connections, and ends those that there are, as a machine that is gone."""
        if self._server is None or self._thread is None:
            return
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._server = None
        with self._lock:
            open_ones = list(self._connections)
        for connection in open_ones:
            cut(connection)

    def close(self) -> None:
        """Ends it."""
        self.deafen()
        self._client.close()

    def choose(self, method: str, path: str) -> BadAnswer | None:
        """The bad answer for a request, counted."""
        with self._lock:
            self.times.append(time.monotonic())
            for bad, hits in self._bad.items():
                matches = fnmatchcase(method, bad.method) and fnmatchcase(path, bad.path)
                if matches and (not bad.count or hits < bad.count):
                    self._bad[bad] += 1
                    self.struck[bad.kind] += 1
                    return bad
        return None

    def forward(self, method: str, path: str, headers: dict[str, str], body: bytes) -> httpx2.Response:
        """Upstream's answer."""
        return self._client.request(method, path, headers=headers, content=body)

    def opened(self, connection: socket.socket) -> None:
        """Notes a connection."""
        with self._lock:
            self._connections.add(connection)

    def closed(self, connection: socket.socket) -> None:
        """Forgets a connection."""
        with self._lock:
            self._connections.discard(connection)


def cut(connection: socket.socket) -> None:
    """Ends a connection, whatever it is in the middle of."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy: NomadProxy

    def setup(self) -> None:
        self.proxy.opened(self.request)
        super().setup()

    def finish(self) -> None:
        self.proxy.closed(self.request)
        with contextlib.suppress(OSError, ValueError):
            super().finish()

    def handle(self) -> None:
        # Whoever asked may be gone, or cut off.
        with contextlib.suppress(OSError, ValueError):
            super().handle()

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        bad = self.proxy.choose(self.command, self.path.partition("?")[0])
        if bad is not None and bad.kind == "status":
            self._answer(bad.status, {}, bad.text.encode())
            return
        if bad is not None:
            time.sleep(bad.seconds)
        try:
            response = self.proxy.forward(self.command, self.path, _end_to_end(self.headers.items()), body)
        except httpx2.HTTPError:
            self._reset()
            return
        if bad is not None and bad.kind == "reset":
            self.send_response(response.status_code)
            self.send_header("Content-Length", str(len(response.content) + 1))
            self.end_headers()
            self._reset()
            return
        self._answer(response.status_code, _end_to_end(response.headers.items()), response.content)

    def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _reset(self) -> None:
        """Closes with a reset instead of a goodbye."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    do_GET = do_PUT = do_POST = do_DELETE = _serve  # noqa: N815 - the names http.server looks for

    def log_message(self, format: str, *args: Any) -> None:
        return


def _end_to_end(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    return {name: value for name, value in headers if name.lower() not in _HOP_BY_HOP}


@contextlib.contextmanager
def nomad_proxy(upstream: str) -> Iterator[NomadProxy]:
    """A proxy on a free port of this machine, answering well."""
    proxy = NomadProxy(upstream)
    proxy.listen()
    try:
        yield proxy
    finally:
        proxy.close()
