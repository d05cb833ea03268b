"""Keeps a member in its group: one round looks at its own state, and does the next thing, or says what it waits for."""

import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from nomad_stateful.agent.membership.decision import Answer, Step, left_alone, next_step
from nomad_stateful.agent.membership.disk import START_AGAIN
from nomad_stateful.agent.membership.member import ChangedError, Member
from nomad_stateful.agent.server import ServerError
from nomad_stateful.waiting import Backoff, Stopwatch

_EVERY_S = 0.5
_AGAIN_AT_MOST_S = 30.0
# An expelled member's first own try is at once, and the next ones five minutes apart.
_REJOINS_WITHIN_S = 15.0


def tell(text: str) -> None:
    """Says a line, with when it began to be true."""
    print(f"{datetime.now(UTC):%H:%M:%S} {text}", file=sys.stderr, flush=True)


class Keeper:
    """What is known from one round to the next."""

    def __init__(
        self, member: Member, order: Path, say: Callable[[str], None] = tell, *, accounts: Path | None = None
    ) -> None:
        """`order` is the file by which the server's parent process is told to end it (disk.py)."""
        self._member = member
        self._order = order
        self._accounts = accounts
        self.has_accounts = False
        """Whether the databases and accounts were made by this member, since it is the primary."""
        self._say = say
        self._said = ""
        self._prepared = ""
        """The server that has the group's account, by its UUID."""
        self._expelled: Stopwatch | None = None
        self._failed = False
        self._backoff = Backoff(1.0, _AGAIN_AT_MOST_S)
        self.peers: Mapping[str, Answer | str] = {}
        """What they said last: shown, and what health goes by where the member waits for others (http.py)."""

    @property
    def why(self) -> str:
        """Why the member is not in its group, by the last round: what it does or waits for; "" where it is."""
        state, _, rest = self._said.partition("\n")[0].partition(": ")
        return rest if state.isupper() else f"{state}: {rest}" if rest else state

    def round(self) -> float:
        """Does one thing, and returns how long to wait for the next."""
        try:
            own = self._member.look()
            if own.state != "ERROR":
                self._expelled = None
            if own.state == "OFFLINE":
                return self._out_of_group(own)
            if own.state == "ERROR":
                return self._expelled_from_group()
            if own.state == "ONLINE":
                self._in_group(own)
            elif own.has_majority:
                self._tell(f"{own.state}: takes from the others what it lacks")
                # A router that was cut off with them could not, and nobody is led here until it is ONLINE.
                self._member.end_clients()
            else:
                # It becomes ONLINE by a message that a majority has to order.
                self._without_majority(own)
        except ChangedError as error:
            self._tell(f"waits: {error}")
        except (ServerError, ValueError) as error:
            # Started anew it may have other data, without the account.
            self._prepared = ""
            self._tell("waits for its server", f": {error}")
        return _EVERY_S

    def _in_group(self, own: Answer) -> None:
        self._backoff.reset()
        self._failed = False
        self._prepared = ""
        if own.offline_mode:
            self._member.set_global("offline_mode", "OFF")
        if own.role == "PRIMARY" and own.has_majority and not own.read_only and not own.was_in_group:
            self._member.mark()
        if own.role != "PRIMARY":
            self.has_accounts = False
        # Until it is committed a statement about accounts keeps members that join from logging in.
        elif not self.has_accounts and not own.read_only and own.online == len(self._member.group.members):
            self._make_accounts()
        if own.has_majority:
            self._tell(f"ONLINE, {own.role}")
        else:
            self._without_majority(own)

    def _without_majority(self, own: Answer) -> None:
        """Acts where nobody else of the group is left.

        The server starts again in seconds; STOP GROUP_REPLICATION waits 60 s, for a view that does not come.
        """
        self.peers = self._member.ask_peers()
        step = left_alone(self._member.group, own, self.peers)
        why = f"{own.state} without a majority, and no other member is in the group"
        if step == "start again":
            self._tell(f"{why}: has its server started again, so that the group can begin")
            self._order.write_text(f"{START_AGAIN}{why}\n", encoding="utf-8")
        elif step == "go on":
            self._tell(f"{why}, but for one that was expelled and does not answer: goes on alone, in a minute or two")
            self._member.go_on_alone()
        else:
            self._tell(f"{own.state} without a majority: nothing is written until another member can be reached")

    def _make_accounts(self) -> None:
        if self._accounts is not None:
            self._member.make_accounts(list(filter(None, self._accounts.read_text(encoding="utf-8").splitlines())))
            self._tell("databases and accounts are as configured")
        self.has_accounts = True

    def _expelled_from_group(self) -> float:
        """Has it tried anew by the agent where its own tries come to nothing: the group may have to begin."""
        self._expelled = self._expelled or Stopwatch()
        # It becomes read-only, and leaves, once nobody holds a table's lock.
        self._member.end_clients()
        if self._member.rejoins() and self._expelled.seconds < _REJOINS_WITHIN_S:
            self._tell("ERROR: it was expelled, and comes back by itself")
            return _EVERY_S
        self._tell("ERROR: leaves the group, to join again")
        self._member.leave()
        return 0.0

    def _out_of_group(self, own: Answer) -> float:
        if not own.read_only:
            self._member.set_global("super_read_only", "ON")
        if self._prepared != own.server_id:
            self._member.prepare()
            self._prepared = own.server_id
        self.peers = self._member.ask_peers()
        step = next_step(self._member.group, {**self.peers, self._member.group.own: own})
        if step.kind == "wait":
            self._tell(f"OFFLINE: {step.why}")
            return _EVERY_S
        return self._start(step)

    def _start(self, step: Step) -> float:
        """Joins or begins; what is refused is tried again more and more rarely."""
        if not self._failed:
            self._tell(f"OFFLINE: {step.kind}s: {step.why}")
        began = Stopwatch()
        try:
            if step.kind == "begin":
                self._member.begin()
            else:
                self._member.join()
        except ServerError as error:
            self._prepared = ""
            self._failed = True
            logged = self._member.complaints(began.seconds)
            pause_s = self._backoff.next()
            self._tell("\n  ".join([f"OFFLINE: could not {step.kind}, and tries again: {error}", *logged]))
            return pause_s
        return 0.0

    def _tell(self, text: str, details: str = "") -> None:
        """Says what has changed; details alone are no change."""
        if text != self._said:
            self._say(text + details)
        self._said = text
