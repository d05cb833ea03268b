"""What is read from the output of others, and who is named as the caller of a request."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx2
import pytest

from tools.bench.proxy import Proxy, described, part
from tools.bench.verification import steps


def test_steps_of_a_verification_end_with_the_rows_read_back() -> None:
    lines = [
        (11.0, "    first allocation: 0a1b on client-1 answers; 0 rows read back\n"),
        (11.5, "==> stopping and purging mysql-server\n"),
        (15.0, "    after purge and redeploy: 2c3d on client-1 answers; 5 rows read back\n"),
    ]
    assert steps(lines, started=10.0) == [("first allocation", 1.0), ("after purge and redeploy", 4.0)]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("python3 -m sandbox.standins.plugins.aws 127.0.0.1:1", "aws plugin"),
        ("/home/plugins/resource-nomad-v2/pulumi-resource-nomad 127.0.0.1:1", "nomad plugin"),
        ("/project/nomad_stateful/provider/pulumi-resource-nomad-csi 127.0.0.1:1", "nomad-csi plugin"),
        ("/project/.venv/bin/python -m nomad_stateful.provider 127.0.0.1:1", "nomad-csi plugin"),
        ("python -u /bin/pulumi-language-python-exec --monitor 127.0.0.1:1", "program"),
    ],
)
def test_callers_are_known_by_their_command_lines(command: str, name: str) -> None:
    assert part(command) == name


def test_requests_are_described_without_the_ids_in_them() -> None:
    allocation = "/v1/allocation/d5368f98-0c3e-4f7e-9d7a-111111111111?namespace=default"
    assert described("GET", allocation, b"") == "GET /v1/allocation/ID"
    assert described("GET", "/v1/plugin/csi/aws-ebs0?index=4&wait=5s", b"") == "GET /v1/plugin/csi/aws-ebs0 (blocking)"
    assert described("POST", "/", b"Action=CreateVolume&Size=1") == "CreateVolume"


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


def test_the_proxy_passes_everything_on_and_notes_who_asked(upstream: str) -> None:
    with Proxy(upstream, lambda _port: "program") as proxy:
        answer = httpx2.put(f"{proxy.url}/v1/jobs?region=x", content=b"{}", trust_env=False)
    assert (answer.status_code, answer.text) == (418, "/v1/jobs?region=x {}")
    assert answer.headers["X-Nomad-Index"] == "7"
    assert [(one.caller, one.what) for one in proxy.requests] == [("program", "PUT /v1/jobs")]
