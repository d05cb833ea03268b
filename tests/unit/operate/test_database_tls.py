"""To whom root's password is sent: a server that encrypts, and is the stack's where that can be told."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import pymysql
import pytest

from nomad_stateful.databases.catalogue import DATABASES
from nomad_stateful.nomad.running_job import Endpoint
from nomad_stateful.operate.database import Database, UntrustedError
from nomad_stateful.operate.stack import DatabaseOutputs
from tests.unit.provider.test_nomad_tls import issue

_PROTOCOL_41, _SSL, _SECURE, _PLUGIN_AUTH = 0x200, 0x800, 0x8000, 0x80000
_BASE = 1 | _PROTOCOL_41 | _SECURE | _PLUGIN_AUTH


def greeting(capabilities: int) -> bytes:
    """https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_packets_protocol_handshake_v10.html"""
    low, high = capabilities & 0xFFFF, capabilities >> 16
    body = b"\x0a8.4.6\0" + struct.pack("<I", 1) + b"a" * 8 + b"\0" + struct.pack("<HBHHB", low, 45, 2, high, 21)
    body += b"\0" * 10 + b"a" * 12 + b"\0mysql_native_password\0"
    return struct.pack("<I", len(body))[:3] + b"\0" + body


class Server:
    """Greets one client, with TLS or without, and keeps what it was then told."""

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self.told = b""
        self._context = context
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()
        self.at = Endpoint("a", "n", "client", "127.0.0.1", self._socket.getsockname()[1])

    def _serve(self) -> None:
        connection, _ = self._socket.accept()
        connection.settimeout(10)
        with contextlib.suppress(OSError), connection:
            connection.sendall(greeting(_BASE | (_SSL if self._context else 0)))
            if self._context is None:
                self.told = connection.recv(4096)
                return
            connection.recv(36)  # asks for TLS
            with self._context.wrap_socket(connection, server_side=True) as encrypted:
                self.told = encrypted.recv(4096)

    def close(self) -> None:
        self._thread.join()
        self._socket.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("ours", "others"):
        (tmp_path / name).mkdir()
        issue(tmp_path / name, "server", issue(tmp_path / name, "ca", None))
    return tmp_path


@contextlib.contextmanager
def server(folder: Path | None) -> Iterator[Server]:
    context = None
    if folder is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "server.pem", folder / "server-key.pem")
    running = Server(context)
    try:
        yield running
    finally:
        running.close()


def log_in(running: Server, tls: str, ca: Path | None = None) -> None:
    text = ca.read_text(encoding="utf-8") if ca else ""
    known = DatabaseOutputs(DATABASES["mysql"], "job", "default", "z", "mysql", "root", "secret", tls, text)
    with Database.of(known).read_only(running.at):
        pytest.fail("the server says nothing after its greeting")


@pytest.mark.parametrize("tls", ["preferred", "required"])
def test_a_server_that_does_not_encrypt_is_told_nothing(tls: str) -> None:
    with server(None) as running, pytest.raises(UntrustedError, match=r"does not encrypt: .*set mysql\.tls: off"):
        log_in(running, tls)
    assert running.told == b""


def test_a_server_of_another_authority_is_told_nothing(folder: Path) -> None:
    with (
        server(folder / "others") as running,
        pytest.raises(UntrustedError, match="does not have the certificate"),
    ):
        log_in(running, "preferred", folder / "ours/ca.pem")
    assert running.told == b""


@pytest.mark.parametrize("ca", ["ca.pem", "server.pem"])
def test_the_stacks_server_is_known_by_its_authority_or_by_its_certificate(folder: Path, ca: str) -> None:
    with server(folder / "ours") as running, pytest.raises(pymysql.err.OperationalError):
        log_in(running, "preferred", folder / "ours" / ca)
    assert b"root\0" in running.told


def test_a_server_with_a_certificate_of_its_own_making_is_spoken_to_with_encryption(folder: Path) -> None:
    with server(folder / "others") as running, pytest.raises(pymysql.err.OperationalError):
        log_in(running, "preferred")
    assert b"root\0" in running.told


def test_without_tls_in_the_settings_there_is_none() -> None:
    with server(None) as running, pytest.raises(pymysql.err.OperationalError):
        log_in(running, "off")
    assert b"root\0" in running.told
