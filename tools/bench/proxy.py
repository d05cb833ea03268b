"""A reverse proxy that writes down who asks what: between our processes and an API, for counting only."""

from __future__ import annotations

import http.client
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

_HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade"})
_UPSTREAM_TIMEOUT_S = 660.0
_IDENTITY = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|vol-[0-9a-f]+")


@dataclass(frozen=True)
class Request:
    """One request: when (seconds since the epoch), by which of our processes, and what for."""

    at: float
    caller: str
    what: str


class Proxy:
    """Listens on a port of the loopback while it is entered."""

    def __init__(self, target: str, caller_of: Callable[[int], str]) -> None:
        """`caller_of` names the process behind a port of the loopback."""
        self.requests: list[Request] = []
        parts = urlsplit(target)
        host, port = str(parts.hostname), int(parts.port or 80)
        lock = threading.Lock()

        def note(request: Request) -> None:
            with lock:
                self.requests.append(request)

        handler = _handler(host, port, caller_of, note)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> Proxy:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(
    host: str, port: int, caller_of: Callable[[int], str], note: Callable[[Request], None]
) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        caller = ""

        def setup(self) -> None:
            super().setup()
            # Once for each connection: a process keeps its own.
            self.caller = caller_of(self.client_address[1])

        def pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            note(Request(time.time(), self.caller, described(self.command, self.path, body)))
            upstream = http.client.HTTPConnection(host, port, timeout=_UPSTREAM_TIMEOUT_S)
            try:
                headers = {key: value for key, value in self.headers.items() if key.lower() not in _HOP_BY_HOP}
                upstream.request(self.command, self.path, body or None, headers)
                answer = upstream.getresponse()
                content = answer.read()
            finally:
                upstream.close()
            self.send_response(answer.status)
            for key, value in answer.getheaders():
                if key.lower() not in _HOP_BY_HOP | {"content-length", "date", "server"}:
                    self.send_header(key, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_POST = do_DELETE = pass_on  # noqa: N815

        def log_message(self, *_: Any) -> None:
            """Nothing: what counts is noted."""

    return Handler


def described(method: str, path: str, body: bytes) -> str:
    """What a request is about, without the ids in it: AWS's action, or the method and path."""
    action = parse_qs(body.decode("utf-8", errors="replace")).get("Action") if body else None
    if action:
        return action[0]
    route = _IDENTITY.sub("ID", urlsplit(path).path)
    waits = " (blocking)" if "index" in parse_qs(urlsplit(path).query) else ""
    return f"{method} {route}{waits}"


def caller(port: int, proc: Path = Path("/proc")) -> str:
    """Which part of a deployment owns the loopback connection from that port, by its command line."""
    inode = _inode(port, proc)
    for folder in proc.iterdir():
        if not folder.name.isdigit() or not inode:
            continue
        try:
            owned = any(str(link.readlink()) == f"socket:[{inode}]" for link in (folder / "fd").iterdir())
            words = (folder / "cmdline").read_bytes().decode(errors="replace") if owned else ""
        except OSError:
            continue
        if words:
            return part(words.replace("\0", " "))
    return "unknown"


def part(command: str) -> str:
    """The name of a process in a deployment."""
    for mark, name in (
        ("sandbox.standins.plugins.aws", "aws plugin"),
        ("pulumi-resource-aws", "aws plugin"),
        ("sandbox.standins.plugins.nomad", "nomad plugin"),
        ("pulumi-resource-nomad-csi", "nomad-csi plugin"),
        ("pulumi-resource-nomad", "nomad plugin"),
        ("-m nomad_stateful.provider", "nomad-csi plugin"),
        ("pulumi-language-python-exec", "program"),
        ("nomad", "nomad command"),
    ):
        if mark in command:
            return name
    return command[:40]


def _inode(port: int, proc: Path) -> str:
    for line in (proc / "net/tcp").read_text(encoding="ascii").splitlines()[1:]:
        fields = line.split()
        if fields[1].endswith(f":{port:04X}") and fields[9] != "0":
            return fields[9]
    return ""
