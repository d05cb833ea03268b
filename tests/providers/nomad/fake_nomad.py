"""A Nomad that answers as it is told, for what a real one does only in rare moments."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, Any]


@dataclass
class FakeNomad:
    """Answers by method and path; of a list of answers the last one stays."""

    answers: dict[str, list[Answer]] = field(default_factory=dict)
    requests: list[tuple[str, Any]] = field(default_factory=list)  # "PUT /v1/…?query", body
    headers: list[dict[str, str]] = field(default_factory=list)
    address: str = ""

    def answer(self, request: str, *answers: Answer) -> None:
        self.answers[request] = list(answers)

    def asked(self, start: str) -> list[tuple[str, Any]]:
        return [item for item in self.requests if item[0].startswith(start)]

    def take(self, method: str, path: str) -> Answer:
        known = self.answers.get(f"{method} {path.partition('?')[0]}")
        if not known:
            return 404, "not found"
        return known.pop(0) if len(known) > 1 else known[0]


@contextlib.contextmanager
def fake_nomad() -> Iterator[FakeNomad]:
    fake = FakeNomad()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _handle(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            fake.requests.append((f"{self.command} {self.path}", body))
            fake.headers.append(dict(self.headers))
            status, answer = fake.take(self.command, self.path)
            data = (answer if isinstance(answer, str) else json.dumps(answer)).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_PUT = do_DELETE = _handle  # noqa: N815 - the base class's names

        def log_message(self, *args: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    fake.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
