"""--http-endpoint: counts of the calls, in Prometheus' text form, and a health check."""

from __future__ import annotations

from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any


class Metrics:
    """Counts finished calls and their seconds."""

    def __init__(self) -> None:
        self._calls: Counter[tuple[str, str]] = Counter()
        self._seconds: Counter[tuple[str, str]] = Counter()
        self._requests: Counter[tuple[str, str]] = Counter()
        self._lock = Lock()

    def observe(self, call: str, code: str, seconds: float) -> None:
        """Counts one finished CSI call."""
        with self._lock:
            self._calls[call, code] += 1
            self._seconds[call, code] += seconds  # type: ignore[assignment]  # a Counter holds floats as well

    def observe_request(self, operation: str, status: int) -> None:
        """Counts one finished request to EC2."""
        with self._lock:
            self._requests[operation, str(status)] += 1

    def text(self) -> str:
        """All counts."""
        with self._lock:
            rows = [
                *_rows("csi_operations_total", ("method", "grpc_status_code"), self._calls),
                *_rows("csi_operations_seconds_sum", ("method", "grpc_status_code"), self._seconds),
                *_rows("aws_ebs_csi_api_requests_total", ("request", "status"), self._requests),
            ]
        return "\n".join(rows) + "\n"


def _rows(name: str, labels: tuple[str, str], counts: Counter[tuple[str, str]]) -> list[str]:
    head = [f"# TYPE {name} counter"]
    return head + [
        f'{name}{{{labels[0]}="{first}",{labels[1]}="{second}"}} {value}'
        for (first, second), value in sorted(counts.items())
    ]


def serve(address: str, metrics: Metrics) -> ThreadingHTTPServer:
    """Serves /metrics and /healthz on `host:port` (`:port` for every address) in a thread; OSError, ValueError."""
    host, _, port = address.rpartition(":")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            texts = {"/metrics": metrics.text(), "/healthz": "ok\n"}
            body = texts.get(self.path, "not found\n").encode()
            self.send_response(200 if self.path in texts else 404)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Says nothing: a scrape every few seconds is no news."""

    server = ThreadingHTTPServer((host, int(port)), Handler)
    Thread(target=server.serve_forever, args=(0.1,), name="metrics", daemon=True).start()
    return server
