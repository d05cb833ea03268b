"""A plugin serves the user who started it, and root; it has that user's credentials."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from nomad_stateful.plugin_server.peers import OwnUserOnly

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux says whose a connection is"),
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become other users"),
]

NOBODY = 65534
# The modules are loaded before: another user may not be able to read them.
CALLER = """
import os, socket, struct, sys, grpc
port, uid = int(sys.argv[1]), int(sys.argv[2])
channel = grpc.insecure_channel(f"127.0.0.1:{port}")
call = channel.unary_unary("/test.Plugin/Do")
if uid:
    os.setgroups([]); os.setgid(uid); os.setuid(uid)
try:
    print(call(b"", timeout=10).decode())
except grpc.RpcError as error:
    print(error.code().name)
"""


@pytest.fixture
def done() -> list[str]:
    return []


@pytest.fixture
def port(done: list[str]) -> Iterator[int]:
    """The port of a plugin's server."""

    def do(_request: bytes, _context: object) -> bytes:
        done.append("done")
        return b"done"

    gate = OwnUserOnly()
    server = grpc.server(ThreadPoolExecutor(2), interceptors=[gate])
    methods = {"Do": grpc.unary_unary_rpc_method_handler(do)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test.Plugin", methods),))
    gate.port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield gate.port
    server.stop(None).wait()


def call_as(uid: int, port: int) -> str:
    words = [sys.executable, "-c", CALLER, str(port), str(uid)]
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


def test_another_user_of_the_machine_is_refused_before_anything_is_done(port: int, done: list[str]) -> None:
    assert call_as(NOBODY, port) == "PERMISSION_DENIED"
    assert done == []


def test_the_user_of_the_plugin_is_served(port: int, done: list[str]) -> None:
    assert call_as(0, port) == "done"
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        call = channel.unary_unary("/test.Plugin/Do", None, None)
        assert [call(b"", timeout=10) for _ in range(3)] == [b"done"] * 3
    assert done == ["done"] * 4
