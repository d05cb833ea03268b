"""The session of a command: with whom it speaks, and whom it tells the password."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from nomad_stateful.databases.operations import UnencryptedError, UnverifiedError
from nomad_stateful.databases.postgres.operations import OPERATIONS, connect
from nomad_stateful.databases.upgrades import UpgradeRefusedError, Version
from tests.certificates import Authority

PASSWORD = "of-the-superuser"


def message(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack("!i", len(content) + 4) + content


def request(code: int, rest: bytes = b"") -> bytes:
    """What asks a client to prove who it is."""
    return message(b"R", struct.pack("!i", code) + rest)


@contextmanager
def answering(serve: Callable[[socket.socket], None]) -> Iterator[tuple[int, bytearray]]:
    """A server that answers once; gives its port, and what it was told."""
    told = bytearray()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def run() -> None:
            client, _ = listening.accept()
            with client:
                client.settimeout(5)
                serve(client)
                with suppress(OSError):
                    while more := client.recv(4096):
                        told.extend(more)

        thread = threading.Thread(target=run)
        thread.start()
        yield listening.getsockname()[1], told
        thread.join()


def asks(answer: bytes) -> Callable[[socket.socket], None]:
    """Serves who reads the start of a session and answers it."""

    def serve(client: socket.socket) -> None:
        client.recv(4096)
        client.sendall(answer)

    return serve


@pytest.mark.parametrize("answer", [request(3), request(5, b"salt"), request(0), request(7), message(b"Z", b"I")])
def test_the_password_is_told_to_no_server_that_does_not_prove_to_know_it(answer: bytes) -> None:
    with answering(asks(answer)) as (port, told), pytest.raises(UnverifiedError, match="does not prove"):
        connect("127.0.0.1", port, "postgres", PASSWORD, None)
    assert PASSWORD.encode() not in bytes(told)


def test_a_proof_that_is_another_ones_is_refused() -> None:
    def serve(client: socket.socket) -> None:
        client.recv(4096)
        client.sendall(request(10, b"SCRAM-SHA-256\0\0"))
        nonce = client.recv(4096).rpartition(b"r=")[2]
        client.sendall(request(11, b"r=" + nonce + b"more,s=c2FsdA==,i=4096"))
        client.recv(4096)
        client.sendall(request(12, b"v=" + b"A" * 43 + b"="))

    with answering(serve) as (port, _), pytest.raises(UnverifiedError, match="does not prove"):
        connect("127.0.0.1", port, "postgres", PASSWORD, None)


def context(ca: str = "") -> ssl.SSLContext:
    made = ssl.create_default_context(cadata=ca or None)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_REQUIRED if ca else ssl.CERT_NONE
    return made


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.made(tmp_path_factory.mktemp("tls") / "own")


def encrypts(own: Authority, answer: bytes) -> Callable[[socket.socket], None]:
    """Serves who has the certificate and answers the start of a session."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(own.folder / "server-cert.pem", own.folder / "server-key.pem")

    def serve(client: socket.socket) -> None:
        client.recv(8)
        client.sendall(b"S")
        with suppress(OSError), server.wrap_socket(client, server_side=True) as encrypted:
            encrypted.recv(4096)
            encrypted.sendall(answer)
            encrypted.recv(4096)

    return serve


def test_a_server_with_another_authoritys_certificate_is_told_nothing(own: Authority, tmp_path: Path) -> None:
    another = Authority.made(tmp_path / "another")
    with (
        answering(encrypts(own, request(3))) as (port, _),
        pytest.raises(UnverifiedError, match=r"certificate|issuer"),
    ):
        connect("127.0.0.1", port, "postgres", PASSWORD, context(another.read("ca.pem")))


def test_who_is_in_between_cannot_pass_the_proof_on(own: Authority) -> None:
    with (
        answering(encrypts(own, request(10, b"SCRAM-SHA-256\0\0"))) as (port, _),
        pytest.raises(UnverifiedError, match="does not tie its proof"),
    ):
        connect("127.0.0.1", port, "postgres", PASSWORD, context())


def test_a_server_without_tls_is_told_nothing() -> None:
    with answering(asks(b"N")) as (port, told), pytest.raises(UnencryptedError):
        connect("127.0.0.1", port, "postgres", PASSWORD, context())
    assert not told


def test_a_server_that_is_not_up_yet_is_asked_again() -> None:
    with answering(lambda client: client.close()) as (port, _), pytest.raises(OPERATIONS.errors):
        connect("127.0.0.1", port, "postgres", PASSWORD, context())


@pytest.mark.parametrize(
    ("before", "after", "why"), [("17.6", "18.1", "files of its own"), ("18.2", "18.1", "set postgres.image")]
)
def test_there_is_no_way_to_another_major_version_nor_back(before: str, after: str, why: str) -> None:
    old, new = (Version.parse(text, 2) for text in (before, after))
    assert old is not None
    assert new is not None
    with pytest.raises(UpgradeRefusedError, match=why):
        OPERATIONS.upgrades.refuse_path(old, new)


def test_a_version_is_two_numbers() -> None:
    assert OPERATIONS.upgrades.of_server("18.6 (Debian 18.6-3)") == (18, 6)
    OPERATIONS.upgrades.refuse_path(OPERATIONS.upgrades.of_server("18.5"), OPERATIONS.upgrades.wanted("18.6"))
    with pytest.raises(UpgradeRefusedError, match=r"such as 18\.1"):
        OPERATIONS.upgrades.wanted("18")
