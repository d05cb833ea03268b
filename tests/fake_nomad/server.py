"""The HTTP server of a Nomad, or of another service, that a test makes up."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Request:
    """What a client asks; the path has its query."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def document(self) -> Any:
        """The body's JSON; None without a body."""
        return json.loads(self.body) if self.body else None


@dataclass(frozen=True)
class Reply:
    """What it is told: a text, or what becomes JSON; the state's index, where there is one; and other headers."""

    status: int
    body: Any
    index: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@contextlib.contextmanager
def serving(reply_to: Callable[[Request], Reply]) -> Iterator[str]:
    """Serves on a free port of this machine; its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            reply = reply_to(Request(self.command, self.path, dict(self.headers), body))
            data = (reply.body if isinstance(reply.body, str) else json.dumps(reply.body)).encode()
            # The asker may have been cancelled and be gone.
            with contextlib.suppress(ConnectionError):
                self.send_response(reply.status)
                if reply.index is not None:
                    self.send_header("X-Nomad-Index", str(reply.index))
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _serve  # noqa: N815 - the names http.server looks for

        def log_message(self, format: str, *args: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
