"""The settings of a stack as a fault changes them, and which jobs they ask for."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from sandbox.docker import agent
from tools.trial.servers import MYSQL, SERVERS, Server

Section = dict[str, Any]
_PREFIX: Final = "nomad-stateful:"


class MissingError(LookupError):
    """What a change is made to is not in these settings."""


class StackSettings:
    """The part of a stack's file that the program reads."""

    def __init__(self, config: Section) -> None:
        self.config = config
        self.held: frozenset[str] = frozenset()
        """Volumes that no job is to have anew: others had them until now."""
        self.zone: str = self.volumes[0].get("zone") or self.volumes[0]["zones"][0]
        """Where the database's first volume is, and the volumes of programs are made."""
        self.names: dict[str, str] = {}
        """The present names of volumes that were renamed."""

    @classmethod
    def read(cls, path: Path) -> StackSettings:
        """The settings in a stack's file."""
        return cls(yaml.safe_load(path.read_text(encoding="utf-8"))["config"])

    def write(self, path: Path) -> None:
        """Puts them into a stack's file, whose other parts stay."""
        whole = yaml.safe_load(path.read_text(encoding="utf-8"))
        whole["config"] = self.config
        path.write_text(yaml.safe_dump(whole, sort_keys=False), encoding="utf-8")

    def copy(self) -> StackSettings:
        """The same settings, to be changed."""
        copied = StackSettings(copy.deepcopy(self.config))
        copied.held, copied.zone, copied.names = self.held, self.zone, dict(self.names)
        return copied

    @property
    def server(self) -> Server:
        """The database server that they have."""
        return next(server for server in SERVERS.values() if f"{_PREFIX}{server.name}" in self.config)

    @property
    def database(self) -> Section:
        """Its section."""
        return self.config[f"{_PREFIX}{self.server.name}"]  # type: ignore[no-any-return]

    @property
    def placement(self) -> Section:
        """The section `placement`."""
        return self.config.setdefault(f"{_PREFIX}placement", {})  # type: ignore[no-any-return]

    @property
    def plugin(self) -> Section:
        """The first plugin."""
        return self.plugins[0]

    @property
    def plugins(self) -> list[Section]:
        """The plugins."""
        return self.config[f"{_PREFIX}plugins"]  # type: ignore[no-any-return]

    @property
    def volumes(self) -> list[Section]:
        """The volumes and sets of volumes."""
        return self.config.setdefault(f"{_PREFIX}volumes", [])  # type: ignore[no-any-return]

    @property
    def consumers(self) -> list[Section]:
        """The consumers."""
        return self.config.setdefault(f"{_PREFIX}consumers", [])  # type: ignore[no-any-return]

    def volume(self, name: str) -> Section:
        """One volume. Raises MissingError."""
        return _named(self.volumes, name)

    def consumer(self, name: str) -> Section:
        """One consumer. Raises MissingError."""
        return _named(self.consumers, name)

    def used(self) -> set[str]:
        """Names of the volumes that a job has."""
        mounted = {mount["volume"] for one in self.consumers for mount in one["mounts"]}
        return mounted | {one["volume"] for one in (self.database, self.database.get("backup")) if one}

    def rename(self, old: str, new: str) -> None:
        """Another name of a volume, wherever it stands. Raises MissingError."""
        self.volume(old).update(name=new, renamedFrom=old)
        for use in (
            self.database,
            self.database.get("backup"),
            *(mount for one in self.consumers for mount in one["mounts"]),
        ):
            if use and use["volume"] == old:
                use["volume"] = new
        first = next((first for first, name in self.names.items() if name == old), old)
        self.names[first] = new

    def back_from(self, later: StackSettings) -> StackSettings:
        """These settings as the ones that follow later ones, in which volumes may have been renamed."""
        back = self.copy()
        for volume in back.volumes:
            now = later.names.get(volume["name"], volume["name"])
            if now != volume["name"] and any(one["name"] == now for one in later.volumes):
                volume["renamedFrom"] = now
        return back

    def job(self) -> tuple[str, str]:
        """Namespace and id of the database's job."""
        return self.placement.get("namespace", "default"), self.database.get("jobId", self.server.job)

    def jobs(self, clients: int) -> dict[str, int]:
        """How many allocations of each job there are to be, by namespace and id; none of jobs that wait to be asked."""
        namespace, _ = self.job()
        return {f"{namespace}/{job}": count for job, count in self._jobs(clients)}

    def _jobs(self, clients: int) -> Iterator[tuple[str, int]]:
        for plugin in self.plugins:
            own = plugin.get("jobIds") or {}
            yield own.get("controller", f"plugin-{plugin['id']}-controller"), plugin.get("controllers", 2)
            yield own.get("node", f"plugin-{plugin['id']}-node"), clients
        yield self.job()[1], 1
        if backup := self.database.get("backup"):
            job = backup.get("jobId", f"{self.server.name}-backup")
            yield from ((job, 0), (f"{job}-restore", 0))
        for one in self.consumers:
            yield one["name"], one.get("count", 1)


def with_server(path: Path, server: Server, zones: Sequence[str] = ()) -> None:
    """Gives the sandbox's stack another database in the place of MySQL; what the two share stays as it is.

    A group has a volume in each of the zones.
    """
    if server is MYSQL:
        return
    settings = StackSettings.read(path)
    section = settings.config.pop(f"{_PREFIX}{MYSQL.name}")
    settings.volume(MYSQL.volume)["name"] = server.volume
    settings.config[f"{_PREFIX}{server.name}"] = {**section, **server.settings}
    if server.members > 1:
        del settings.volume(server.volume)["zone"]
        settings.volume(server.volume).update(count=server.members, zones=list(zones))
        settings.config[f"{_PREFIX}agentImage"] = f"{agent.REPOSITORY}:{agent.tag()}"
        # Short for a single server, which others wait for; a member's is longer than an election of Nomad's servers.
        del settings.database["stopAfterDisconnect"]
    settings.write(path)


def _named(sections: list[Section], name: str) -> Section:
    for one in sections:
        if one["name"] == name:
            return one
    raise MissingError(name)
