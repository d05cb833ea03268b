"""A group's database as its clients find it: through the routers of their clients, without asking Nomad."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from tools.faults.writer import Served

_TIMEOUT_S: Final = 5


@dataclass
class Routed(Served):
    """Logs in through the first router that leads somewhere."""

    hosts: list[str] = field(default_factory=list)
    """The routers' addresses, the preferred ones first."""
    _password: str = field(default="", repr=False)

    def login(self, port: int, *hosts: str) -> Any:
        """A login at the first host that takes one: by default through the routers' port for writes, or for reads."""
        if not self._password:
            found = self.nomad.get(f"var/nomad/jobs/{self.server.member_jobs[0]}", timeout_s=_TIMEOUT_S)
            self._password = found["Items"]["root_password"]
        error: Exception = ConnectionError("there is no client")
        for host in hosts or self.hosts:
            try:
                return self.server.login(host, port, self._password, _TIMEOUT_S)
            except self.server.errors as refused:
                error = refused
        raise error

    def _connect(self) -> Any:
        return self.login(int(self.server.settings["port"]))
