"""--http-endpoint: what the driver counts, in Prometheus' text form, under the official driver's names.

They are what v1.48.0 serves, which is not all that its page says: errors have `code`, throttles `operation_name`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, Final

_OPERATIONS: Final = (
    *("AttachVolume", "CreateSnapshot", "CreateTags", "CreateVolume", "DeleteSnapshot", "DeleteTags", "DeleteVolume"),
    *("DescribeAvailabilityZones", "DescribeInstances", "DescribeSnapshots", "DescribeTags", "DescribeVolumes"),
    *("DescribeVolumesModifications", "DetachVolume", "EnableFastSnapshotRestores", "ModifyVolume"),
)
"""Shown from the start, with 0."""
_REQUEST_S: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_EC2_COLLECTOR_S: Final = (0.01, 0.1, 0.5, 1, 2.5, 5, 10)
_NVME_COLLECTOR_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_THROTTLES: Final = frozenset(
    (
        *("BandwidthLimitExceeded", "EC2ThrottledException", "LimitExceededException", "PriorRequestNotComplete"),
        *("ProvisionedThroughputExceededException", "RequestLimitExceeded", "RequestThrottled"),
        *("RequestThrottledException", "SlowDown", "ThrottledException", "Throttling", "ThrottlingException"),
        *("TooManyRequestsException", "TransactionInProgressException"),
    )
)
"""Codes of errors that the SDK takes for throttling."""


@dataclass
class _Histogram:
    """Seconds, counted up to each limit."""

    limits: Sequence[float]
    seen: list[float] = field(default_factory=lambda: [0, 0.0])
    """How many there were, and their sum."""
    below: Counter[float] = field(default_factory=Counter)

    def observe(self, seconds: float) -> None:
        """Counts one."""
        self.seen = [self.seen[0] + 1, self.seen[1] + seconds]
        self.below.update(limit for limit in self.limits if seconds <= limit)

    def rows(self, name: str, labels: str = "") -> Iterator[str]:
        """Yields its samples; `labels` as they are written, such as request="AttachVolume"."""
        before = f"{labels}," if labels else ""
        for limit in self.limits:
            yield f'{name}_bucket{{{before}le="{limit:g}"}} {self.below[limit]}'
        yield f'{name}_bucket{{{before}le="+Inf"}} {self.seen[0]:.0f}'
        shown = f"{{{labels}}}" if labels else ""
        yield f"{name}_sum{shown} {self.seen[1]}"
        yield f"{name}_count{shown} {self.seen[0]:.0f}"


class Metrics:
    """A controller's requests to EC2, and a node's reads of NVMe statistics: of loop devices there are none."""

    def __init__(self, *, controller: bool, instance_id: Callable[[], str] | None) -> None:
        self._controller = controller
        self._instance_id = instance_id
        self._requests = {name: _Histogram(_REQUEST_S) for name in _OPERATIONS}
        self._errors: Counter[tuple[str, str]] = Counter()
        self._throttles: Counter[str] = Counter()
        self._ec2_scrapes = _Histogram(_EC2_COLLECTOR_S)
        self._nvme_scrapes = _Histogram(_NVME_COLLECTOR_S)
        self._lock = Lock()

    def observe_request(self, operation: str, code: str, seconds: float) -> None:
        """Counts one try of a request to EC2, with the code of its error, empty for none."""
        with self._lock:
            if code in _THROTTLES:
                self._throttles[operation] += 1
            elif code:
                self._errors[code, operation] += 1
            else:
                self._requests.setdefault(operation, _Histogram(_REQUEST_S)).observe(seconds)

    def text(self) -> str:
        """Returns what a scrape is answered."""
        with self._lock:
            rows = [*(self._of_controller() if self._controller else ())]
            if self._instance_id is not None:
                rows += self._of_node(self._instance_id())
        return "\n".join(rows) + "\n"

    def _of_controller(self) -> Iterator[str]:
        name = "aws_ebs_csi_api_request_duration_seconds"
        yield f"# TYPE {name} histogram"
        for operation, histogram in sorted(self._requests.items()):
            yield from histogram.rows(name, f'request="{operation}"')
        if self._errors:
            yield "# TYPE aws_ebs_csi_api_request_errors_total counter"
        for (code, operation), count in sorted(self._errors.items()):
            yield f'aws_ebs_csi_api_request_errors_total{{code="{code}",request="{operation}"}} {count}'
        if self._throttles:
            yield "# TYPE aws_ebs_csi_api_request_throttles_total counter"
        for operation, count in sorted(self._throttles.items()):
            yield f'aws_ebs_csi_api_request_throttles_total{{operation_name="{operation}"}} {count}'
        yield from _collector("aws_ebs_csi_ec2_collector", self._ec2_scrapes, "")

    def _of_node(self, instance_id: str) -> Iterator[str]:
        own = f'instance_id="{instance_id}"'
        yield from _collector("aws_ebs_csi_nvme_collector", self._nvme_scrapes, own)
        yield "# TYPE aws_ebs_csi_nvme_collector_errors_total counter"
        yield f"aws_ebs_csi_nvme_collector_errors_total{{{own}}} 0"


def _collector(name: str, scrapes: _Histogram, labels: str) -> Iterator[str]:
    """Counts this scrape of it."""
    scrapes.observe(0.0)
    yield f"# TYPE {name}_duration_seconds histogram"
    yield from scrapes.rows(f"{name}_duration_seconds", labels)
    yield f"# TYPE {name}_scrapes_total counter"
    yield f"{name}_scrapes_total{f'{{{labels}}}' if labels else ''} {scrapes.seen[0]:.0f}"


def serve(address: str, metrics: Metrics) -> ThreadingHTTPServer:
    """Serves /metrics on `host:port` (`:port` for every address) in a thread; OSError, ValueError."""
    host, _, port = address.rpartition(":")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path == "/metrics"
            body = (metrics.text() if found else "404 page not found\n").encode()
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Says nothing: a scrape every few seconds is no news."""

    server = ThreadingHTTPServer((host, int(port)), Handler)
    Thread(target=server.serve_forever, args=(0.1,), name="metrics", daemon=True).start()
    return server
