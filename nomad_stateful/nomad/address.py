"""The address of a cluster and the token for it, as they are given: what is wrong with them, and what may be shown."""

import os
import re
from typing import Final

from nomad_stateful.errors import unsendable

SOCKET: Final = "unix://"
"""Start of an address that is a socket's path, such as that of the API within each task:
https://developer.hashicorp.com/nomad/api-docs/task-api."""
_USER: Final = re.compile(r"^([^/]*//)?.*@", re.DOTALL)
_TOKENS: Final = ("NOMAD_TOKEN", "NOMAD_OPERATOR_TOKEN")
_HIGHEST_PORT: Final = 65535


def without_user(address: str) -> str:
    """Returns an address for a message, without the user and password that may be in it."""
    return address if address.startswith(SOCKET) else _USER.sub(r"\1", address)


def refused(address: str, token: str) -> str:
    """Returns why a cluster cannot be asked by these, "" where it can. No request may have them before."""
    if not _is_url(address):
        return (
            f"address (NOMAD_ADDR) is {without_user(address)!r}: it has to be http://HOST:PORT, https://HOST:PORT or "
            "unix://PATH. Correct it, for example to http://10.0.0.5:4646"
        )
    known = (name for name in _TOKENS if os.environ.get(name) == token)
    return unsendable(next(known, "secretId (or --token-file)"), token)


def _is_url(address: str) -> bool:
    import httpx2  # as of NomadApi

    if address.startswith(SOCKET):
        return True
    try:
        url = httpx2.URL(address)
    except httpx2.InvalidURL:
        return False
    is_whole = url.scheme in ("http", "https") and bool(url.host) and (url.port or 0) <= _HIGHEST_PORT
    return is_whole and not any(char.isspace() for char in address)
