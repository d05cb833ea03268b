"""Where the driver listens."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

MAX_SOCKET_PATH_BYTES: Final = 107
"""Linux keeps 108 bytes for a unix socket's path, the last of them a NUL."""


class EndpointError(ValueError):
    """The endpoint cannot be listened on; says why."""


@dataclass(frozen=True)
class Endpoint:
    """A parsed --endpoint: a unix socket's absolute path."""

    path: str

    @property
    def target(self) -> str:
        """The address as gRPC writes it."""
        return f"unix://{self.path}"

    def prepare(self) -> None:
        """Makes the socket's folder and removes what an earlier run left in its place; raises OSError."""
        socket = Path(self.path)
        socket.parent.mkdir(parents=True, exist_ok=True)
        socket.unlink(missing_ok=True)


def parse_endpoint(text: str) -> Endpoint:
    """Reads unix:///abs, unix://rel or unix:/abs; raises EndpointError.

    As upstream does, `unix://csi/csi.sock` means /csi/csi.sock: host and path are joined under the root.
    """
    parts = urlsplit(text)
    if parts.scheme.lower() != "unix":
        raise EndpointError(f"endpoint {text!r} has the unsupported protocol {parts.scheme!r}: use unix://")
    joined = f"{parts.netloc}{parts.path}"
    if not joined.strip("/"):
        raise EndpointError(f"endpoint {text!r} names no socket file")
    path = "/" + joined.lstrip("/")
    if len(path.encode()) > MAX_SOCKET_PATH_BYTES:
        raise EndpointError(f"socket path {path} is longer than the {MAX_SOCKET_PATH_BYTES} bytes Linux allows")
    return Endpoint(path)
