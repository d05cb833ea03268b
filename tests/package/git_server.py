"""A server of git repositories over HTTPS, and of a folder over HTTP, in a network of their own."""

from __future__ import annotations

import gzip
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address
from pathlib import Path

from tests.certificates import Authority
from tests.sandbox.networks import Network

ADDRESS = "127.0.0.1"


class Folder(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


class _Repositories(BaseHTTPRequestHandler):
    """What `git upload-pack` answers; nobody writes."""

    def __init__(self, root: Path, *arguments: object) -> None:
        self._root = root
        super().__init__(*arguments)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        path, _, query = self.path.partition("/info/refs?service=")
        if query != "git-upload-pack":
            self.send_error(403)
            return
        told = self._upload_pack(path, "--advertise-refs")
        self._answer("advertisement", b"001e# service=git-upload-pack\n0000" + told)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])) if "Content-Length" in self.headers else b""
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self._answer("result", self._upload_pack(self.path.removesuffix("/git-upload-pack"), asked=body))

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""

    def _upload_pack(self, path: str, *words: str, asked: bytes = b"") -> bytes:
        command = ["git", "upload-pack", "--stateless-rpc", *words, str(self._root / path.strip("/"))]
        return subprocess.run(command, input=asked, capture_output=True, check=True).stdout

    def _answer(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", f"application/x-git-upload-pack-{kind}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def serving(network: Network, repositories: Path, folder: Path, authority: Authority) -> Iterator[None]:
    """The repositories at https://127.0.0.1/ and the folder at http://127.0.0.1/, for who is in the network."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.folder / "server-cert.pem", authority.folder / "server-key.pem")
    of_git = _server(network, 443, partial(_Repositories, repositories))
    of_git.socket = context.wrap_socket(of_git.socket, server_side=True)
    servers = [of_git, _server(network, 80, partial(Folder, directory=str(folder)))]
    for server in servers:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()


def _server(network: Network, port: int, handler: Callable[..., BaseHTTPRequestHandler]) -> ThreadingHTTPServer:
    server = ThreadingHTTPServer((ADDRESS, 0), handler, bind_and_activate=False)
    server.socket.close()
    server.socket = network.listen(IPv4Address(ADDRESS), port)
    return server
