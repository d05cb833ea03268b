"""A database as data: what settings, plan, jobs and commands have to know of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Problem:
    """What is wrong with a value, and what to do."""

    rule: str
    remedy: str


class ServerOptions(Protocol):
    """Which options of the server a person may set."""

    def argument(self, argument: str, mount_path: str) -> Problem | None:
        """Returns what is wrong with a further argument of the server."""

    def option(self, name: str, value: str, mount_path: str) -> Problem | None:
        """Returns what is wrong with an option of the server's file."""


@dataclass(frozen=True)
class Account:
    """An account that the program makes for itself."""

    name: str
    privileges: str
    """As the job's script that makes accounts reads them."""


@dataclass(frozen=True)
class Database:
    """One database server."""

    name: str
    """Key of its section in the settings and of its outputs; its scripts are in jobs/NAME/, its job in NAME.nomad.hcl."""
    title: str
    """As people write it."""
    superuser: str
    reserved_accounts: frozenset[str]
    """Accounts beside those of the program that no person may configure."""
    system_databases: frozenset[str]
    options: ServerOptions
    image_problem: Callable[[str], Problem | None]
    """Returns why an image is not this server's, as far as its name says."""
    is_older: Callable[[Sequence[int], Sequence[int]], bool]
    """Returns whether a version, as numbers, is too old for the files of another."""
    backup: Account
    """Who dumps."""
    has_logs: bool
    """Whether its logs can be copied to S3, for points in time."""

    def output(self, role: str = "") -> str:
        """Returns the name of a stack's output about it, such as mysqlPassword for Password."""
        return f"{self.name}{role}"

    def job(self, role: str = "") -> str:
        """Returns a name that its jobs and resources have by themselves, such as mysql-backup for backup."""
        return f"{self.name}-{role}" if role else self.name


Databases = Mapping[str, Database]
