"""The replication group of the stack's database: its members, who begins it, and the routers to it."""

from collections.abc import Iterator

from nomad_stateful.nomad.commands import scope
from nomad_stateful.nomad.group_members import MemberState
from nomad_stateful.nomad.group_record import Decision, GroupRecord
from nomad_stateful.operate import group
from nomad_stateful.operate.doctor.facts import Facts, NotChecked
from nomad_stateful.operate.doctor.finding import Finding, problem
from nomad_stateful.operate.stack import DatabaseOutputs
from nomad_stateful.resource_types import REPLICATION_GROUP

_PAGE = "docs/group.md#when-members-are-away"
_OF_ONE = "a member that is not well serves nobody, and with the loss of another one nobody can write"
_OF_ALL = "two of three members have to be ONLINE for writes"
_OF_TWO = "both acknowledge writes, and those of one of them are lost"
_NONE_YET = "the stack has deployed no replication group yet"


def members(facts: Facts) -> Iterator[Finding]:
    """Every member is ONLINE, and one of them writes."""
    _deployed(facts)
    for _, finding in findings(facts):
        yield finding


def findings(facts: Facts) -> Iterator[tuple[MemberState | None, Finding]]:
    """Yields what is wrong with the members, with whose it is; None for the group as a whole."""
    server = facts.server()
    if server is None:
        return
    found = facts.once("group members", lambda: group.states(facts.nomad(), server))
    by_job, at = {one.job: one for one in found}, scope(server.namespace)
    for job, what in group.problems(found):
        if (one := by_job.get(job)) is not None:
            logs = f"nomad alloc logs -stderr -task group{at} {one.at.allocation_id[:8]}" if one.at else ""
            yield one, problem(what, _OF_ONE, logs or f"nomad-stateful explain {job}", _PAGE)
        elif sum(one.is_primary for one in found) > 1:
            cure = f"`nomad job stop{at}` the one that the third member does not see"
            yield None, problem(what, _OF_TWO, cure, _PAGE)
        else:
            yield None, problem(what, _OF_ALL, "nomad-stateful recover", _PAGE)


def decision(facts: Facts) -> Iterator[Finding]:
    """The variable that says who begins the group is there, and says what the stack's state says."""
    groups = [made for made in facts.made(REPLICATION_GROUP) if made["groupId"]]
    if not groups:
        raise NotChecked(_NONE_YET)
    for made in groups:
        record = GroupRecord(facts.nomad(), str(made.get("namespace") or "default"), str(made["jobId"]))
        path, said = record.path, f"first={made['first']} group={made['groupId']}"
        found = facts.once(f"variable {path}", record.read)
        if found == Decision(made["first"], made["groupId"]):
            continue
        now = "is not there" if found is None else f"says first={found.first} group={found.group_id}"
        what = f"the variable {path} (namespace {record.namespace}) {now}, and the stack's state {said}"
        why = "where the state is lost too, another `up` begins a second group"
        cure = f"nomad var put -force -namespace {record.namespace} {path} {said}"
        yield problem(what, why, cure, "docs/group.md#what-runs")


def _deployed(facts: Facts) -> DatabaseOutputs:
    """Returns the group that the stack has deployed. Raises NotChecked where it has none."""
    server = facts.server()
    if server is None or not server.members:
        raise NotChecked(_NONE_YET)
    return server


def routers(facts: Facts) -> Iterator[Finding]:
    """Every router passes its check: it reaches a primary."""
    server = _deployed(facts)
    for one in facts.once("routers", lambda: list(group.routers(facts.nomad(), server))):
        if not one.passes:
            how = "cannot be asked" if one.passes is None else "does not pass its check"
            what = f"the router on {one.client} {how}: {one.why}"
            why = "programs on that client reach no primary"
            yield problem(what, why, f"nomad alloc logs{scope(server.namespace)} {one.allocation_id[:8]} router", _PAGE)
