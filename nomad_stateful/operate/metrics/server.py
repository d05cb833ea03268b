"""/metrics and /targets over HTTP, read when they are asked for."""

import json
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from socketserver import ThreadingMixIn
from typing import Any, Generic, TypeVar
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.core import Metric

from nomad_stateful.errors import ProviderError
from nomad_stateful.operate import stack
from nomad_stateful.operate.cluster import connect
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.metrics.gauges import Gauges
from nomad_stateful.operate.metrics.reading import read
from nomad_stateful.operate.metrics.targets import targets
from nomad_stateful.waiting import Stopwatch

T = TypeVar("T")
FRESH_S = 5.0
"""How long what was read answers further scrapes."""
STACK_S = 300.0
"""How long the stack's outputs and settings are taken to be what they were."""


class Fresh(Generic[T]):
    """What was read, for readers that come together; the stack itself is read anew every few minutes."""

    _stack_lock = threading.Lock()
    _stack_read = Stopwatch()

    def __init__(self, of: Callable[[], T]) -> None:
        self._read = of
        self._lock = threading.Lock()
        self._known: tuple[Stopwatch, T] | None = None

    def value(self) -> T:
        """Returns what was read less than FRESH_S ago, or reads it."""
        with self._lock:
            if self._known is None or self._known[0].seconds > FRESH_S:
                self._forget_stack()
                self._known = Stopwatch(), self._read()
            return self._known[1]

    def _forget_stack(self) -> None:
        with Fresh._stack_lock:
            if Fresh._stack_read.seconds > STACK_S:
                stack.forget()
                Fresh._stack_read.restart()


class Collector:
    """The gauges, read at a scrape."""

    def __init__(self, of: Callable[[Callable[[str], None]], Gauges] = read) -> None:
        self._gauges = Fresh(lambda: of(say))

    def describe(self) -> Iterable[Metric]:
        """Returns nothing: to register must not read."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yields the families."""
        yield from self._gauges.value().families()


def registry(collector: Collector) -> CollectorRegistry:
    """Returns a registry of these metrics alone, without Python's own."""
    made = CollectorRegistry()
    made.register(collector)
    return made


def say(line: str) -> None:
    """Prints what did not answer on standard error."""
    print(f"warning: {line}", file=sys.stderr, flush=True)


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Handler(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing: a scrape every few seconds is no news."""


def application(collector: Collector) -> Any:
    """Returns the WSGI application."""
    metrics = make_wsgi_app(registry(collector))
    found = Fresh(_targets)

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ.get("PATH_INFO") != "/targets":
            return metrics(environ, start_response)  # type: ignore[no-any-return]
        try:
            body = found.value()
        except (OperateError, ProviderError) as error:
            say(f"/targets: {' '.join(str(error).split())}")
            start_response("503 Service Unavailable", [("Content-Type", "text/plain; charset=utf-8")])
            return [b"Nomad or the stack does not answer\n"]
        start_response("200 OK", [("Content-Type", "application/json")])
        return [body]

    return answer


def _targets() -> bytes:
    with closing(connect()) as nomad:
        return json.dumps(targets(nomad, stack.namespace())).encode()


def serve(host: str, port: int) -> None:
    """Serves until it is interrupted. Raises OSError where the address cannot be had."""
    with make_server(host, port, application(Collector()), server_class=_Server, handler_class=_Handler) as server:
        print(f"http://{host}:{server.server_port}/metrics and /targets", file=sys.stderr, flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return
