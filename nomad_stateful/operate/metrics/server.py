"""/metrics, and /targets, where a Prometheus that knows nothing of Nomad finds what to scrape; read when asked for."""

import json
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from socketserver import ThreadingMixIn
from typing import Any, Final, Generic, TypeVar
from urllib.parse import quote
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.core import Metric

from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad import clients
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.operate import stack
from nomad_stateful.operate.cluster import connect
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.metrics.gauges import Gauges
from nomad_stateful.operate.metrics.reading import read
from nomad_stateful.waiting import Stopwatch

T = TypeVar("T")
FRESH_S = 5.0
"""How long what was read answers further scrapes."""
STACK_S = 300.0
"""How long the stack's outputs and settings are taken to be what they were."""
TAG = "prometheus"
"""Tag of the services that are scraped."""
LABELS: Final = ("plugin", "role", "server")
"""Tags that become labels. Any other key would let a service choose Prometheus' job, path or address."""


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


def targets(nomad: NomadApi, namespace: str) -> list[dict[str, Any]]:
    """Returns every service with the tag in the stack's namespace, and Nomad's agents, as Prometheus reads them.

    https://prometheus.io/docs/prometheus/latest/http_sd/
    """
    return [*_services(nomad, namespace), *_agents(nomad)]


def _services(nomad: NomadApi, namespace: str) -> list[dict[str, Any]]:
    found = []
    for space in nomad.get("services", namespace=namespace) or []:
        for service in space["Services"] if space["Namespace"] == namespace else ():
            if TAG not in (service.get("Tags") or []):
                continue
            for one in nomad.get(f"service/{quote(service['ServiceName'], safe='')}", namespace=namespace) or []:
                tags = dict(tag.split("=", 1) for tag in one.get("Tags") or [] if "=" in tag)
                own = {key: tags[key] for key in LABELS if key in tags}
                labels = {"job": one["ServiceName"], "instance": one["Address"], **own}
                found.append({"targets": [f"{one['Address']}:{one['Port']}"], "labels": labels})
    return found


def _agents(nomad: NomadApi) -> list[dict[str, Any]]:
    shared = {"__metrics_path__": "/v1/metrics", "__param_format": "prometheus"}
    if str(nomad.address).startswith("https:"):
        shared["__scheme__"] = "https"
    server = str(nomad.address).partition("://")[2].rstrip("/")
    there = clients.read(nomad, [stub for stub in clients.listed(nomad) if stub.status != "down"])
    agents = [*(("nomad-client", one.name, one.http_address) for one in there), ("nomad-server", server, server)]
    return [
        {"targets": [address], "labels": {**shared, "job": job, "instance": instance}}
        for job, instance, address in agents
    ]
