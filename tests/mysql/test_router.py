"""A group's router leads to the member whose agent says that it is the primary, and to nobody else, at any moment."""

from __future__ import annotations

import contextlib
import re
import shutil
import socket
import socketserver
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.image_roots import unpack
from tests.mysql.group_network import Network, network
from tests.mysql.place import Place, place, task

NAMES = ("mysql-server-1", "mysql-server-2", "mysql-server-3")
ADDRESSES = {name: f"10.99.0.{number}" for number, name in enumerate(NAMES, start=1)}
PORTS = {"db": 3306, "read": 3307, "state": 3308}
PORT, AGENT_PORT = 13306, 13307


@dataclass
class Members:
    """Servers that greet with their name and hold the session, and their agents."""

    primary: str = ""
    answers: bool = True
    ended: threading.Event = field(default_factory=threading.Event)

    def server(self, name: str) -> socketserver.ThreadingTCPServer:
        """Greets, and keeps the session until it is cut."""
        members = self

        class Session(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                self.request.sendall(f"{name}\n".encode())
                self.request.settimeout(0.1)
                while not members.ended.is_set():
                    try:
                        if not self.request.recv(1):
                            return
                    except TimeoutError:
                        continue
                    except ConnectionResetError:
                        return

        return _Tcp((ADDRESSES[name], PORT), Session)

    def agent(self, name: str) -> ThreadingHTTPServer:
        """Says who is the primary; a replica is whoever is not."""
        members = self

        class Answers(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                is_primary = members.primary == name
                wanted = is_primary if self.path.startswith("/primary") else bool(members.primary) and not is_primary
                self.send_response(200 if wanted and members.answers else 503)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        return ThreadingHTTPServer((ADDRESSES[name], AGENT_PORT), Answers)


class _Tcp(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


@pytest.fixture
def own() -> Iterator[Network]:
    """Else a server of another test could have one of these ports."""
    with network(ADDRESSES.values()) as made:
        yield made


@pytest.fixture
def members(own: Network) -> Iterator[Members]:
    made = Members()
    makers = [partial(maker, name) for name in NAMES for maker in (made.server, made.agent)]
    servers = [own.threads.submit(maker).result() for maker in makers]
    for server in servers:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield made
    made.ended.set()
    for server in servers:
        server.shutdown()
        server.server_close()


@dataclass
class Router:
    """HAProxy as its job runs it."""

    place: Place
    network: Network
    config: str
    """Its file, with all members in it."""
    script: Sequence[str]
    """What Nomad runs where that changes."""

    def session(self, label: str = "db") -> socket.socket | None:
        """Returns a session with whom it leads to; None where it leads nowhere."""
        with contextlib.suppress(OSError):
            made = self.network.threads.submit(socket.create_connection, ("127.0.0.1", PORTS[label]), 2).result()
            if made.recv(1, socket.MSG_PEEK):
                return made
            made.close()
        return None

    def leads_to(self, label: str = "db") -> str:
        session = self.session(label)
        if session is None:
            return ""
        with session:
            return session.recv(100).decode().strip()

    def ready(self) -> int:
        return self.network.threads.submit(self._ready).result()

    def _ready(self) -> int:
        connection = HTTPConnection("127.0.0.1", PORTS["state"], timeout=2)
        try:
            connection.request("GET", "/ready")
            return connection.getresponse().status
        except OSError:
            return 0
        finally:
            connection.close()

    def write(self, *names: str) -> None:
        """What the job's template does where so many members are registered."""
        gone = [f"server {name}-" for name in set(NAMES) - set(names)]
        lines = [line for line in self.config.splitlines(keepends=True) if not any(name in line for name in gone)]
        (self.place.root / "local/haproxy.cfg").write_text("".join(lines))

    def changed(self) -> None:
        """What Nomad runs in the router's container then."""
        process = self.place.started[-1]
        child = int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0])
        env = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "NOMAD_TASK_DIR=/local"]
        enter = ["nsenter", f"--target={child}", "--mount", "--pid", "--root"]
        subprocess.run([*enter, *env, *self.script], check=True)


@pytest.fixture(scope="module")
def haproxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("image")
    unpack("haproxy", folder / "haproxy")
    yield folder / "haproxy"
    shutil.rmtree(folder)


@pytest.fixture
def router(haproxy: Path, nomad: Path, own: Network, members: Members, tmp_path: Path) -> Iterator[Router]:
    variables = {"members": {"names": list(NAMES), "agent_port": AGENT_PORT, "max_lag_s": 10}}
    found = task(nomad, "database-router", "router", variables)

    def services(text: re.Match[str]) -> str:
        line = text[2].replace("{{ .Address }}", ADDRESSES[text[1]])
        return line.replace("{{ .Port }}", str(PORT))

    with place(haproxy, tmp_path / "router", PORTS["db"]) as made:
        config = found.files["local/haproxy.cfg"]
        config = re.sub(r'{{ range nomadService "([^"]+)" }}(.*?\n){{ end }}', services, config, flags=re.DOTALL)
        config = re.sub(r'{{ env "NOMAD_PORT_(\w+)" }}', lambda name: str(PORTS[name[1]]), config)
        (made.root / "local/router.sh").write_text(found.files["local/router.sh"])
        router = Router(made, own, config, found.scripts["local/haproxy.cfg"])
        router.write(*NAMES)
        made.started.append(subprocess.Popen([*own.enter, *made.words(found, {})], start_new_session=True))
        yield router


def until(holds: Callable[[], bool], within_s: float = 10) -> None:
    end = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def seen_for(seconds: float, look: Callable[[], object]) -> set[object]:
    """Returns all that was seen in a while."""
    end, found = time.monotonic() + seconds, set()
    while time.monotonic() < end:
        found.add(look())
    return found


def test_one_that_has_just_started_is_not_ready_before_it_has_asked(router: Router) -> None:
    seen: set[int] = set()
    until(lambda: seen.add(router.ready()) or 503 in seen)  # type: ignore[func-returns-value]
    assert 200 not in seen | seen_for(2, router.ready)
    assert router.leads_to("db") == router.leads_to("read") == ""


def test_it_follows_the_primary_and_cuts_its_sessions(router: Router, members: Members) -> None:
    members.primary = "mysql-server-2"
    until(lambda: router.leads_to() == "mysql-server-2")
    until(lambda: router.ready() == 200)
    until(lambda: router.leads_to("read") != "")
    assert seen_for(1, lambda: router.leads_to("read")) <= {"mysql-server-1", "mysql-server-3"}
    session = router.session()
    assert session is not None
    with session:
        session.settimeout(5)
        members.primary = "mysql-server-3"
        while session.recv(100):
            pass
    until(lambda: router.leads_to() == "mysql-server-3")


def test_one_that_reads_its_file_again_leads_to_nobody_else_meanwhile(router: Router, members: Members) -> None:
    members.primary = "mysql-server-2"
    until(lambda: router.leads_to() == "mysql-server-2")
    session = router.session()
    assert session is not None
    router.config = router.config.replace("timeout connect 2s", "timeout connect 3s")
    router.write(*NAMES)
    router.changed()
    assert seen_for(2, router.leads_to) <= {"mysql-server-2", ""}
    until(lambda: router.leads_to() == "mysql-server-2")
    with session:
        session.settimeout(10)
        while session.recv(100):
            pass


def test_a_member_that_restarts_costs_no_session(router: Router, members: Members) -> None:
    members.primary = "mysql-server-2"
    until(lambda: router.leads_to() == "mysql-server-2")
    session = router.session()
    assert session is not None
    with session:
        assert session.recv(100)
        session.settimeout(7)
        for names in (NAMES[:2], NAMES):
            router.write(*names)
            router.changed()
        # What was replaced would be ended after five seconds.
        with pytest.raises(TimeoutError):
            session.recv(100)
    members.primary = "mysql-server-3"
    until(lambda: router.leads_to() == "mysql-server-3")


def test_where_no_agent_says_yes_it_serves_nobody(router: Router, members: Members) -> None:
    members.primary = "mysql-server-1"
    until(lambda: router.leads_to() == "mysql-server-1")
    members.answers = False
    until(lambda: router.leads_to() == "")
    until(lambda: router.leads_to("read") == "" and router.ready() == 503)
