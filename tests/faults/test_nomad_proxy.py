"""The proxy in front of an API: what it passes on, and what it counts."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx2
import pytest

from tools.faults.nomad_proxy import nomad_proxy


@pytest.fixture
def upstream() -> Iterator[str]:
    class Echo(BaseHTTPRequestHandler):
        timeout = 5

        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(418)
            self.send_header("X-Nomad-Index", "7")
            self.end_headers()
            self.wfile.write(self.path.encode() + b" " + body)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Echo) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_everything_is_passed_on_and_each_request_is_counted(upstream: str) -> None:
    with nomad_proxy(upstream) as proxy:
        answer = httpx2.put(f"{proxy.address}/v1/jobs?region=x", content=b"{}", trust_env=False)

    assert (answer.status_code, answer.text) == (418, "/v1/jobs?region=x {}")
    assert answer.headers["X-Nomad-Index"] == "7"
    assert len(proxy.times) == 1
