"""Debian's Prometheus beside a sandbox, and what it scrapes on this machine."""

import json
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, build_opener

from tests.sandbox.alerts import rules
from tools.packages import find_command
from tools.trial.running import Running, eventually

PROGRAMS = ("prometheus", "prometheus-node-exporter")
Labels = Mapping[str, str]


def missing() -> str:
    """Returns which programs are not installed."""
    lacking = [name for name in PROGRAMS if not find_command(name)]
    return f"not installed: {', '.join(lacking)} (python -m tools.packages --tests)" if lacking else ""


@dataclass
class Prometheus:
    """A Prometheus that answers at an address."""

    address: str

    def get(self, path: str, **query: str) -> Any:
        """Returns the data of an answer of its API; None while it does not answer."""
        url = f"http://{self.address}/api/v1/{path}?{urlencode(query)}"
        try:
            with build_opener(ProxyHandler({})).open(url, timeout=10) as answer:
                return json.load(answer)["data"]
        except (URLError, ConnectionError, TimeoutError):
            return None

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Returns the vector of an expression that is right."""
        found = self.get("query", query=expression)
        assert found is not None, f"Prometheus does not take {expression}"
        return cast("list[dict[str, Any]]", found["result"])

    def firing(self, alert: str) -> list[Labels]:
        """Returns the labels of each alert of that name which fires."""
        known = (self.get("alerts") or {"alerts": []})["alerts"]
        return [one["labels"] for one in known if one["labels"]["alertname"] == alert and one["state"] == "firing"]

    def fires(self, alert: str, labels: Labels) -> bool:
        """Returns whether an alert with these labels fires; it may have more."""
        return any(labels.items() <= known.items() for known in self.firing(alert))


def free_port() -> int:
    """Returns a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def program(words: Sequence[str], env: Mapping[str, str], cwd: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """While a program runs."""
    with log.open("ab") as file:
        running = subprocess.Popen(words, env=dict(env), cwd=cwd, stdout=file, stderr=file, stdin=subprocess.DEVNULL)
    try:
        yield running
    finally:
        running.terminate()
        running.wait(60)


@dataclass
class Watch:
    """A stack that is watched as the page says."""

    stack: Running
    prometheus: Prometheus
    folder: Path
    """Where logs and configuration are."""
    textfiles: Path
    """The folder that node_exporter reads."""
    operate: str
    """Where `nomad-stateful metrics` answers."""

    _running: ExitStack = field(default_factory=ExitStack)

    def start_operate(self) -> None:
        """Starts `nomad-stateful metrics`."""
        words = [self.stack.python, "-m", "nomad_stateful.operate", "metrics", "--listen", self.operate]
        log = self.folder / "operate.log"
        self._running.enter_context(program(words, self.stack.env, self.stack.project, log))

    def stop_operate(self) -> None:
        """Ends it, where it runs."""
        self._running.close()


@contextmanager
def watched(stack: Running, folder: Path) -> Iterator[Watch]:
    """While Prometheus, `nomad-stateful metrics` and a node_exporter for text files run."""
    textfiles = folder / "textfiles"
    textfiles.mkdir()
    ports = [f"127.0.0.1:{free_port()}" for _ in range(3)]
    operate, exporter, own = ports
    config = rules.write(folder, operate, exporter, stack.outputs().get("mysqlMetricsPassword", ""))
    node_exporter = [
        str(find_command("prometheus-node-exporter")),
        f"--web.listen-address={exporter}",
        "--collector.disable-defaults",
        "--collector.textfile",
        f"--collector.textfile.directory={textfiles}",
    ]
    server = [
        str(find_command("prometheus")),
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={own}",
    ]
    quiet = {key: value for key, value in stack.env.items() if not key.lower().endswith("_proxy")}
    with (
        program(node_exporter, quiet, folder, folder / "node-exporter.log"),
        program(server, quiet, folder, folder / "prometheus.log"),
    ):
        watch = Watch(stack, Prometheus(own), folder, textfiles, operate)

        def log() -> str:
            return (folder / "prometheus.log").read_text()

        eventually(lambda: watch.prometheus.get("status/runtimeinfo"), 30, "Prometheus answers", log)
        watch.start_operate()
        try:
            yield watch
        finally:
            watch.stop_operate()
