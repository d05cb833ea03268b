"""What each member of a database's replication group says of itself, by the HTTP of its agent (docs/agent.md)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nomad_stateful.nomad.api import NomadApi, NomadError
from nomad_stateful.nomad.running_job import Endpoint, allocations, checks, endpoint_of, is_unheard, newest_running

ONLINE, OFFLINE, PRIMARY = "ONLINE", "OFFLINE", "PRIMARY"
_TIMEOUT_S = 3.0
# Of the agent's arguments, in jobs/database.nomad.hcl.
_TOLD = frozenset({"--group", "--first", "--members"})
NOT_WHOLE = re.compile(r"of \d+ members \d+ are ONLINE")
"""How a member's check fails that is in its group, and lacks another one there."""
OUTSIDE = re.compile(r"the member is [A-Z]+")
"""How that of one begins that is not ONLINE."""
NO_ANSWER = "the server does not answer"
"""How that of one begins whose server says nothing, as on a busy client."""


@dataclass(frozen=True)
class Membership:
    """What the job of a member is told of its replication group."""

    name: str
    """Of the job's own group, such as mysql."""
    jobs: tuple[str, ...]
    """Of all members."""
    first: str
    """The member that begins the group."""
    group_id: str


@dataclass(frozen=True)
class MemberState:
    """A member, as it is now."""

    job: str
    at: Endpoint | None = None
    """Its agent; None where no allocation of the job runs, or Nomad does not say."""
    state: str = ""
    """ONLINE, RECOVERING, OFFLINE, ERROR or UNREACHABLE; "" where that is not known."""
    role: str = ""
    """PRIMARY or SECONDARY."""
    majority: bool = True
    """Whether it sees more than half of its group."""
    lag_s: float | None = None
    view: tuple[str, ...] = ()
    """Hosts of the members that it sees."""
    unreachable: tuple[str, ...] = ()
    """Those of them that it does not hear."""
    unapplied: str = ""
    """Transactions that it has received and not executed, as a set of GTIDs."""
    zone: str = ""
    """Where its volume is, for who knows that."""
    executed: str = ""
    """Its transactions, as a set of GTIDs."""
    received: str = ""
    """Those that it has received as well, and may not have executed."""
    began: bool | None = None
    """Whether it ever was in its group, which has begun then; None where its agent does not say."""
    why: str = ""
    """Why its state is not known, or why it may not write although it is the primary."""
    silent: bool = False
    """Whether it may well run, and nobody says what it is: Nomad or its agent does not answer, or Nomad hears nothing
    of its client."""

    @property
    def is_online(self) -> bool:
        """Whether it is in a group that can go on."""
        return self.state == ONLINE and self.majority

    @property
    def is_primary(self) -> bool:
        """Whether it is the one that writes."""
        return self.is_online and self.role == PRIMARY

    @property
    def never_began(self) -> bool:
        """Whether it is in no group, and never was in its own."""
        return self.state == OFFLINE and self.began is False

    @property
    def problem(self) -> str:
        """What is wrong with it; "" where it is in order."""
        return str(self) if self.why or not self.is_online else ""

    def __str__(self) -> str:
        if self.state:
            return f"{self.job} is {self.state}{f' ({self.why})' if self.why else ''}"
        return f"{self.job} cannot be asked: {self.why}"


def ask(nomad: NomadApi, namespace: str, job: str, group: str) -> MemberState:
    """Returns what a member says, or why it cannot be asked; `group` is the name of the job's group."""
    try:
        stubs = allocations(nomad, job, namespace)
        at = endpoint_of(nomad, stubs, namespace, group, "agent")
    except NomadError as error:
        return MemberState(job, why=_line(error), silent=True)
    if at is None:
        why = f"no allocation of it runs (`nomad-stateful explain {job}`)"
        return MemberState(job, why=why, silent=any(map(is_unheard, stubs)))
    return _asked(job, at)


def of_job(job: Mapping[str, Any]) -> Membership | None:
    """Returns what a job is told that runs a member; None of another job, or one that is stopped."""
    tasks = [(group, task) for group in job.get("TaskGroups") or [] for task in group.get("Tasks") or []]
    for group, task in tasks if not job.get("Stop") else []:
        words = [str(word).partition("=") for word in (task.get("Config") or {}).get("args") or []]
        told = {name: value for name, _, value in words}
        if task.get("Name") == "group" and told.keys() >= _TOLD:
            jobs = tuple(one.partition(":")[0] for one in told["--members"].split(","))
            return Membership(str(group["Name"]), jobs, told["--first"], told["--group"])
    return None


def missing(nomad: NomadApi, namespace: str, member: Membership, job: str, found: Sequence[MemberState]) -> str | None:
    """Returns who is away that `job` cannot stop without, by what the members said; "" if nobody, None if unknown."""
    if _is_mute(found, job):
        return _away_by_checks(nomad, namespace, member, job)
    return _others_away(found, job) if _is_in_group(found, job) else ""


def _others_away(found: Sequence[MemberState], job: str) -> str:
    """Returns which other member is not ONLINE; "" if none.

    One that was paused says that it is for a while after the others have expelled it.
    """
    away = (one.problem or _unseen(one.job, found) for one in found if one.job != job)
    return "; ".join(filter(None, away))


def _unseen(job: str, found: Sequence[MemberState]) -> str:
    blind = [one.job for one in found if one.is_online and (job not in one.view or job in one.unreachable)]
    return f"{job} is not heard by {', '.join(blind)}" if blind else ""


def _is_mute(found: Sequence[MemberState], job: str) -> bool:
    """Returns whether nobody says if a member is in its group, and one is silent."""
    says = any(one.is_online or (one.job == job and one.state) for one in found)
    return not says and any(one.silent for one in found)


def _is_in_group(found: Sequence[MemberState], job: str) -> bool:
    """Returns whether a member is in a group that can go on: by what it says, or else by what another one sees."""
    own = next((one for one in found if one.job == job), MemberState(job))
    return own.is_online if own.state else any(job in one.view for one in found if one.is_online)


def _away_by_checks(nomad: NomadApi, namespace: str, member: Membership, job: str) -> str | None:
    """Returns whether members that `job` cannot do without are away, by the checks that Nomad's clients make.

    "" where none is, or `job` itself is in no group; None where they do not say, as where they are Consul's.
    """
    try:
        said = {one: _checked(nomad, namespace, one, member.name) for one in (job, *member.jobs)}
    except NomadError:
        return None
    own = said.pop(job)
    if own is not None and OUTSIDE.match(own):
        return ""
    # An agent that was started since Nomad forgot where a member was does not know that this one is away.
    if own is not None and not own.startswith(NO_ANSWER):
        for one in (own, *said.values()):
            if one and NOT_WHOLE.fullmatch(one):
                return one
    # A member is healthy where all are ONLINE that it knows of. Or the others are, and this one is the one away.
    without = f"of {len(member.jobs)} members {len(said)} are ONLINE"
    return "" if {*said.values()} <= {"", without} else None


def _checked(nomad: NomadApi, namespace: str, job: str, group: str) -> str | None:
    """Returns what the agent answered to its check: "" where the member is healthy, None where it gave no answer."""
    stub = newest_running(allocations(nomad, job, namespace), group)
    said = next(iter(checks(nomad, stub, namespace).values()), None) if stub else None
    return None if said is None or said.startswith("nomad: ") else said


def _asked(job: str, at: Endpoint) -> MemberState:
    import httpx2  # as of NomadApi

    try:
        # A proxy that is meant for others must not apply.
        with httpx2.Client(timeout=_TIMEOUT_S, trust_env=False) as client:
            said = client.get(f"http://{at.host}:{at.port}/").raise_for_status().json()
        return _state(job, at, said)
    except (httpx2.HTTPError, ValueError, TypeError, AttributeError, KeyError) as error:
        why = f"its agent on {at.node_name} ({at.host}:{at.port}) does not answer: {_line(error)}"
        return MemberState(job, at, why=why, silent=True)


def _state(job: str, at: Endpoint, said: dict[str, Any]) -> MemberState:
    state, role = str(said.get("state") or ""), str(said.get("role") or "")
    why = str(said.get("why") or said.get("disk") or "")
    majority = bool(said.get("majority"))
    if not why and state == ONLINE and not majority:
        why = "it sees no majority of the members"
    elif not why and state == ONLINE and role == PRIMARY and said.get("read_only"):
        why = "it is read-only"
    lag_s = float(said["lag_s"]) if state and said.get("lag_s") is not None else None
    members = {str(one["host"]): str(one["state"]) for one in said.get("members") or ()}
    unreachable = tuple(host for host, state in members.items() if state == "UNREACHABLE")
    why = why if state or why else "its agent does not say what it is"
    held = {key: str(said.get(key) or "") for key in ("executed", "received", "unapplied")}
    began = None if said.get("began") is None else bool(said["began"])
    return MemberState(
        job,
        at,
        state,
        role,
        majority,
        lag_s,
        tuple(members),
        unreachable,
        began=began,
        why=why,
        silent=not state,
        **held,
    )


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
