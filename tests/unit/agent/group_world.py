"""Members of a group whose servers are data: what an agent asks of them, and what comes of what it tells them."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from nomad_stateful.agent.membership.decision import Answer, Group, next_step
from nomad_stateful.agent.membership.disk import START_AGAIN
from nomad_stateful.agent.membership.keeper import Keeper
from nomad_stateful.agent.membership.member import ChangedError, Member
from nomad_stateful.agent.server import ServerError
from nomad_stateful.databases.mysql.group_start import MemberTransactions
from nomad_stateful.databases.mysql.gtids import GtidSet

GROUP_ID = "a1a1a1a1-0000-4000-8000-00000000000a"
NAMES = ("member-1", "member-2", "member-3")


def has(executed: str = "", received: str = "") -> MemberTransactions:
    """Transactions of the group by their numbers."""
    return MemberTransactions(*(GtidSet.parse(f"{GROUP_ID}:{one}" if one else "") for one in (executed, received)))


def group(own: str = NAMES[0], first: str = NAMES[0]) -> Group:
    return Group(GROUP_ID, own, first, dict.fromkeys(NAMES, 3306))


def offline(name: str, transactions: MemberTransactions | None = None) -> Answer:
    """A server that is in no group."""
    return Answer(name, GROUP_ID, "OFFLINE", "", True, False, 1, 1, 0, transactions or has())


def online(name: str, role: str = "PRIMARY", reachable: int = 3) -> Answer:
    return Answer(name, GROUP_ID, "ONLINE", role, role != "PRIMARY", False, 3, reachable, reachable, has("1-9"))


@dataclass
class Servers:
    """All servers; one that is not there does not answer."""

    answers: dict[str, Answer]
    begun: list[str] = field(default_factory=list)
    """Who began a group."""
    told: list[tuple[str, str]] = field(default_factory=list)


class FakeMember:
    """Member, of servers that are data."""

    def __init__(self, servers: Servers, name: str) -> None:
        self.servers = servers
        self.group = group(name)
        self.refusal = ""
        self.rejoining = False
        self.unregistered: set[str] = set()
        self.hosts = SimpleNamespace(has=lambda name: name not in self.unregistered)
        self.hears = threading.Event()
        self.ordered = True

    def own_session(self, _within_s: float = 1.0) -> AbstractContextManager[None]:
        return nullcontext()

    def hear_from_group(self) -> None:
        assert self.hears.wait(10)
        if not self.ordered:
            raise ServerError("2013 timed out")

    def look(self) -> Answer:
        return self._of(self.group.own)

    def _of(self, name: str) -> Answer:
        if name not in self.servers.answers:
            raise ServerError("2003 refused")
        return self.servers.answers[name]

    def _tell(self, what: str) -> None:
        self._of(self.group.own)
        self.servers.told.append((self.group.own, what))

    def _change(self, **values: object) -> None:
        own = self.group.own
        self.servers.answers[own] = replace(self._of(own), **values)  # type: ignore[arg-type]

    def ask_peers(self) -> Mapping[str, Answer | str]:
        return {name: self.servers.answers.get(name, "2003 refused") for name in self.group.peers}

    def prepare(self) -> None:
        self._tell("prepare")

    def join(self) -> None:
        self._tell("join")
        if self.refusal:
            raise ServerError(self.refusal)
        self._change(state="ONLINE", role="SECONDARY", members=3, reachable=3, online=3)

    def begin(self) -> None:
        self._tell("begin")
        step = next_step(self.group, self.servers.answers)
        if step.kind != "begin":
            raise ChangedError(step.why)
        self.servers.begun.append(self.group.own)
        self._change(state="ONLINE", role="PRIMARY", read_only=False, members=1, reachable=1, online=1)

    def mark(self) -> None:
        self._tell("mark")
        self._change(transactions=has("1"))

    def end_clients(self) -> None:
        self._tell("end clients")

    def leave(self) -> None:
        self._tell("leave")
        self._change(state="OFFLINE", role="", read_only=True, members=1, reachable=1, online=0)

    def go_on_alone(self) -> None:
        self._tell("go on alone")
        own = frozenset({self.group.own})
        self._change(role="PRIMARY", read_only=False, members=1, reachable=1, online=1, view=own)

    def start_again(self) -> None:
        self._tell("start again")
        self._change(state="OFFLINE", role="", read_only=True, members=1, reachable=1, online=0)

    def rejoins(self) -> bool:
        return self.rejoining

    def set_global(self, name: str, value: str) -> None:
        self._tell(f"{name} = {value}")
        self._change(**{name.removeprefix("super_"): value == "ON"})

    def complaints(self, _seconds: float) -> list[str]:
        return ["the log's own words"]


class Order:
    """The file by which a server is ended and started again."""

    def __init__(self, member: FakeMember) -> None:
        self.member = member

    def write_text(self, text: str, **_: str) -> None:
        assert text.startswith(START_AGAIN)
        self.member.start_again()


def keeper(member: FakeMember, said: list[str]) -> Keeper:
    return Keeper(cast("Member", member), cast("Path", Order(member)), said.append)
