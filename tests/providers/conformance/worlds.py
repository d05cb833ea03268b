"""What a plugin under test talks to, and how it is configured for it."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests import official_parts
from tests.fake_nomad import FakeNomad, fake_nomad
from tests.providers import moto_account
from tests.providers.harness import PluginProcess, plugin_process
from tests.providers.plugin_path import OURS, beside_nomad, is_ours, named_plugin, official_nomad, plugin_path

EMBEDDED, OFFICIAL = "", "official "
"""What the name of a world begins with: whose nomad plugin it holds."""


@dataclass
class World:
    """A configured plugin and what it works on."""

    plugin: PluginProcess
    aws: Any
    nomad: FakeNomad
    moto_url: str
    writes: Callable[[], int] = field(default=lambda: 0)
    """How many things there are, or were written, so that a preview can be seen to make none."""

    def reset(self) -> None:
        """Empties the account and the cluster."""
        self.nomad.reset()
        if self.moto_url:
            moto_account.empty_account()
        self.plugin.engine.messages.clear()


def environment(name: str, aws_url: str, nomad_url: str) -> dict[str, str]:
    """A plugin's environment: the endpoints, credentials that are none, and no look around for others."""
    aws = moto_account.environment(aws_url)
    return aws if name == "aws" else aws | {"NOMAD_ADDR": nomad_url, "NOMAD_TOKEN": "t0ken-of-the-test"}


def implementations() -> tuple[str, ...]:
    """Whose nomad plugins are asked: both, or the one that NOMAD_STATEFUL_PLUGIN_NOMAD chooses by word or path."""
    named = named_plugin("nomad")
    if not named:
        return EMBEDDED, OFFICIAL
    return (EMBEDDED,) if is_ours("nomad") else (OFFICIAL,)


def names() -> list[str]:
    """The worlds there are."""
    return ["aws", *(implementation + "nomad" for implementation in implementations()), "nomad-csi"]


def executable(name: str, folder: Path, nomad_bin: Path | None) -> Path:
    """The plugin as the engine would start it, with nomad on its PATH where there is one."""
    if name.startswith(OFFICIAL):
        program = official_nomad() if is_ours("nomad") else plugin_path("nomad")
        assert program is not None, f"{official_parts.folder()} has no archive of {official_parts.NOMAD}"
        return program
    if name != "nomad":
        return plugin_path(name)
    return OURS[name] if nomad_bin is None else beside_nomad(folder, nomad_bin.parent, OURS[name])


@contextlib.contextmanager
def world(name: str, program: Path) -> Iterator[World]:
    """A plugin's world, made of memory alone."""
    with contextlib.ExitStack() as stack:
        nomad = stack.enter_context(fake_nomad())
        asks_aws = name in ("aws", "nomad-csi")
        moto_url = stack.enter_context(moto_account.moto()) if asks_aws else ""
        env = environment(name, moto_url or "http://127.0.0.1:9", nomad.address)
        plugin = stack.enter_context(plugin_process(program, env))
        plugin.configure({} if name == "aws" else {"address": nomad.address})
        made = World(plugin, moto_account.clients(moto_url) if moto_url else None, nomad, moto_url)
        made.writes = moto_account.things if name == "aws" else (lambda: len(nomad.writes))
        yield made


@contextlib.contextmanager
def unreachable(name: str, program: Path, url: str) -> Iterator[PluginProcess]:
    """A plugin configured, without asking, for endpoints that do not answer as they should."""
    with plugin_process(program, environment(name, url, url)) as plugin:
        plugin.configure({**_UNASKED.get(name, {}), **({} if name == "aws" else {"address": url})})
        yield plugin


_UNASKED: Mapping[str, Mapping[str, str]] = {
    "aws": {"skipCredentialsValidation": "true", "skipRequestingAccountId": "true", "maxRetries": "0"},
}


@dataclass
class Silence:
    """A port that takes connections and says nothing."""

    url: str
    _open: threading.Condition = field(default_factory=threading.Condition)
    _connections: list[socket.socket] = field(default_factory=list)

    def wait_for(self, count: int, timeout_s: float = 60) -> None:
        """Returns once so many have called."""
        with self._open:
            assert self._open.wait_for(lambda: len(self._connections) >= count, timeout_s), len(self._connections)


@contextlib.contextmanager
def silence() -> Iterator[Silence]:
    """Listens until the end, then hangs up on everybody."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1024)
        held = Silence(f"http://127.0.0.1:{listener.getsockname()[1]}")

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with held._open:
                        held._connections.append(connection)
                        held._open.notify_all()

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield held
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            for connection in held._connections:
                connection.close()
