"""Where the members of a group are."""

from pathlib import Path

from nomad_stateful.agent.server import ServerError


class Hosts:
    """Addresses by the file of hosts, which follows members that move; without one a name is its own address.

    Nomad forgets where a member was as soon as its client is away from the servers, though the others may reach it.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._known: dict[str, str] = {}

    def has(self, name: str) -> bool:
        """Returns whether it is known where a member is, or was last."""
        try:
            return bool(self.address(name))
        except ServerError:
            return False

    def address(self, name: str) -> str:
        """Returns where a member is, or was last. Raises ServerError where it never was registered."""
        if self._path is None:
            return name
        lines = map(str.split, self._path.read_text(encoding="utf-8").splitlines())
        self._known |= {one: address for address, *names in filter(None, lines) for one in names}
        if name not in self._known:
            raise ServerError(f"{name} is registered nowhere")
        return self._known[name]
