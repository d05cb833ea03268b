"""The failover watch as a program: through the socket of its task, and what it says when it may not look."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import UnixStreamServer
from typing import Any

import pytest
from moto import mock_aws

from nomad_stateful.agent import __main__ as program
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.recovery.watcher import Watcher

FORBIDDEN = (403, "Permission denied")


class Agent:
    """The API within a task."""

    def __init__(self, path: Path) -> None:
        self.address = f"unix://{path}"
        self.refused = ""
        """Start of the paths that the token may not read."""
        self.tokens: set[str] = set()
        agent = self

        class Handler(BaseHTTPRequestHandler):
            def do_PUT(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                self.do_GET()

            def do_GET(self) -> None:
                agent.tokens.add(self.headers["X-Nomad-Token"])
                status, body = FORBIDDEN if agent.refused and agent.refused in self.path else (200, json.dumps([]))
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *_: Any) -> None:
                """Says nothing."""

            def address_string(self) -> str:
                return "task"

        self.server = UnixStreamServer(str(path), Handler)


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Agent]:
    made = Agent(tmp_path / "api.sock")
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setenv("NOMAD_ADDR", made.address)
    monkeypatch.setenv("NOMAD_TOKEN", "of-the-task")
    monkeypatch.setenv("NOMAD_NAMESPACE", "default")
    monkeypatch.setenv("NOMAD_JOB_ID", "failover")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


def test_the_api_is_reached_through_a_socket(agent: Agent) -> None:
    api = NomadApi.from_env()
    assert api.get("nodes") == []
    assert agent.tokens == {"of-the-task"}
    api.close()


def test_the_token_of_a_file_counts_and_not_that_of_the_environment(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Watcher, "watch", lambda _self: None)
    (tmp_path / "nomad_token").write_text("of-the-file\n")
    with mock_aws():
        told = program.main(
            ["watch", "--volume=default/mysql", "--region=us-west-2", f"--token-file={tmp_path / 'nomad_token'}"]
        )
    assert (told, agent.tokens) == (0, {"of-the-file"})


def test_a_token_file_that_is_missing_is_named(
    agent: Agent, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.main(["watch", "--volume=default/mysql", f"--token-file={tmp_path / 'none'}"]) == 1
    assert "none: No such file or directory. The job's task needs `identity { file = true }`" in capsys.readouterr().err
    assert agent.tokens == set()


def test_it_watches_once_it_may_read_what_it_needs(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    watched: list[Watcher] = []

    def watch(self: Watcher) -> None:
        watched.append(self)

    monkeypatch.setattr(Watcher, "watch", watch)
    arguments = [
        "watch",
        "--region=us-west-2",
        "--account=",
        "--volume=default/mysql",
        "--volume=default/log[0]",
        "--fence",
    ]
    with mock_aws():
        assert program.main(arguments) == 0
    assert watched[0].volumes == {("default", "mysql"), ("default", "log[0]")}
    assert watched[0].fence


@pytest.mark.parametrize("refused", ["/v1/evaluations", "/v1/volume/csi/", "/v1/nodes", "/v1/job/failover/evaluate"])
def test_a_missing_permission_ends_it_with_the_remedy(
    agent: Agent, refused: str, capsys: pytest.CaptureFixture[str]
) -> None:
    agent.refused = refused
    with mock_aws():
        assert program.main(["watch", "--region=us-west-2", "--volume=default/mysql"]) == 1
    said = capsys.readouterr().err
    assert "nomad acl policy apply" in said
    assert "Permission denied" in said


@pytest.mark.parametrize("text", ["mysql", "/mysql", "default/"])
def test_a_volume_without_its_namespace_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        program.main(["watch", f"--volume={text}"])
    assert "is not NAMESPACE/ID" in capsys.readouterr().err
