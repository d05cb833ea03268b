"""What becomes of the volumes that the stack has, under the settings that it is given now.

The engine would delete what the settings no longer name, and create what they newly name.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from nomad_stateful.drivers.catalogue import DRIVERS
from nomad_stateful.program.plan.model import EbsVolume, Plan, Volume
from nomad_stateful.program.preflight.stack_state import StoredVolume
from nomad_stateful.program.settings import Problem

_COPY = "give the new one a name of its own, and copy the data"


@dataclass
class Findings:
    """What is refused, and what is said."""

    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    """What ends or leaves data behind as the settings say."""
    notes: list[Problem] = field(default_factory=list)
    """What happens to a volume that keeps its data."""
    new: list[Volume] = field(default_factory=list)
    """Volumes that the stack does not have yet."""


def judge(plan: Plan, stored: Mapping[str, StoredVolume]) -> Findings:
    """Compares the plan with the volumes of the stack by id."""
    found = Findings()
    left = dict(stored)
    for wanted in plan.volumes:
        before = _before(wanted, stored)
        if before is None:
            found.new.append(wanted)
            continue
        left.pop(before.volume_id, None)
        if before.volume_id == wanted.id:
            found.problems += _two_in_one(wanted, stored)
        _go_on(wanted, before, found)
    for gone in left.values():
        _leave(gone, plan, found)
    return found


def _before(wanted: Volume, stored: Mapping[str, StoredVolume]) -> StoredVolume | None:
    """Returns the volume that it is already; as the engine does, its own id counts first."""
    ids = [wanted.id, *wanted.earlier_ids]
    return next((stored[one] for one in ids if one in stored), None)


def _two_in_one(wanted: Volume, stored: Mapping[str, StoredVolume]) -> Iterator[Problem]:
    earlier = wanted.renamed_from
    second = stored.get(earlier + wanted.id.removeprefix(wanted.name)) if earlier else None
    if second is not None and earlier is not None:
        own_id = wanted.id
        rule = f"the stack has both: {own_id} is {stored[own_id]}, {second.volume_id} is {second}"
        remedy = f"remove renamedFrom, and put the entry {earlier} back; or remove it and let {earlier} be deleted"
        yield Problem(f"{wanted.key}.renamedFrom", earlier, rule, remedy)


def _go_on(wanted: Volume, before: StoredVolume, found: Findings) -> None:
    """The volume stays configured: whether its data does, too."""
    if isinstance(wanted, EbsVolume) and wanted.storage["move_to"]:
        rule = (
            f"{before} may leave the stack, and then stays in AWS as it is: until it has moved, protect does not count"
        )
        remedy = "remove it to have it stay, and be protected again"
        found.notes.append(Problem(f"{wanted.key}.moveTo", wanted.storage["move_to"], rule, remedy))
    if wanted.provision != before.provision:
        _made_otherwise(wanted, before, found)
    elif before.provision == "plugin":
        found.problems += _made_anew(wanted, before)
    else:
        _registered_anew(wanted, before, found)


def _made_otherwise(wanted: Volume, before: StoredVolume, found: Findings) -> None:
    key, provision = f"{wanted.key}.provision", wanted.provision
    same = wanted.registration["external_id"] == before.external_id
    if (before.provision, provision) == ("pulumi", "existing") and same:
        if before.retained and before.protected is False:
            rule = f"{before} leaves the stack with what is on it, and is no longer grown or protected by it"
            found.notes.append(Problem(key, provision, rule, "provision: pulumi keeps it in the stack"))
            return
        rule = f"{before} is made by Pulumi, which would delete it"
        remedy = (
            "set provision back to pulumi, with retain: true and protect: false, run `pulumi up`, and then change it"
        )
        found.problems.append(Problem(key, provision, rule, remedy))
        return
    if before.provision == "existing":
        rule = f"{before} has this name, and would be left for an empty volume"
    else:
        rule = f"{before} has this name, and would be deleted with what is on it"
    found.problems.append(Problem(key, provision, rule, f"set it back to {before.provision}; or {_COPY}"))


def _made_anew(wanted: Volume, before: StoredVolume) -> Iterator[Problem]:
    """Yields the changes of what the driver knows a volume by: it would delete it, and create an empty one."""
    rule = f"{before} was made by its driver, which would delete it with what is on it and make an empty one"
    changes = [
        (f"{wanted.key}.name", wanted.id, before.volume_id),
        (f"{wanted.key}.plugin", wanted.plugin, before.plugin),
        (f"{wanted.key}.zone", wanted.zone, before.zone),
        ("placement.namespace", wanted.registration["namespace"], before.namespace),
    ]
    for key, value, earlier in changes:
        if earlier and value != earlier:
            remedy = f"keep {earlier}; for a volume elsewhere {_COPY}"
            if key.endswith(".name"):
                remedy = f"keep the name {earlier.partition('[')[0]}; for a volume of another name copy the data"
            yield Problem(key, value or "not set", rule, remedy)


def _registered_anew(wanted: Volume, before: StoredVolume, found: Findings) -> None:
    """The storage stays; how Nomad finds it changes, which its consumers are stopped for."""
    own = before.provision == "pulumi"
    external_id = before.external_id if own else str(wanted.registration["external_id"])
    if external_id != before.external_id:
        rule = f"the volume was {before}: what is on that stays there, and is not moved"
        found.warnings.append(Problem(f"{wanted.key}.externalId", external_id, rule, _back(before.external_id)))
        return
    driver = DRIVERS[wanted.driver].provider or wanted.plugin
    if before.plugin and wanted.plugin != before.plugin:
        if before.provider and driver != before.provider:
            rule = f"{before} is storage of the driver {before.provider}: what is on it stays there, and is not moved"
            found.warnings.append(Problem(f"{wanted.key}.plugin", wanted.plugin, rule, _back(before.plugin)))
            return
        rule = f"it moves from plugin {before.plugin} and stays {before}, with what is on it: {_REGISTERED_ANEW}"
        found.notes.append(Problem(f"{wanted.key}.plugin", wanted.plugin, rule, "nothing is to be done"))
    if wanted.id != before.volume_id:
        rule = f"volume {before.volume_id} stays {before}, with what is on it: {_REGISTERED_ANEW}"
        remedy = "leave renamedFrom out after this `pulumi up`" if wanted.renamed_from else "nothing is to be done"
        found.notes.append(Problem(f"{wanted.key}.name", wanted.id, rule, remedy))


_REGISTERED_ANEW = "it is registered again once its consumers have released it, and they start again on it"


def _back(value: str) -> str:
    return f"set it back to {value} to go on with the data; to have both, give this one a name of its own and copy"


def _leave(gone: StoredVolume, plan: Plan, found: Findings) -> None:
    """The settings name the volume no more."""
    name = gone.volume_id.partition("[")[0]
    rest = [one for one in plan.volumes if one.name == name and one.id != name]
    key, value = (f"volumes.{name}.count", str(len(rest))) if rest else (f"volumes.{gone.volume_id}", "not set")
    keep = "set it back" if rest else "put the entry back"
    named = "" if rest else _candidates(gone, found.new)
    if gone.provision == "existing":
        again = f"{keep} to use it again" + (f", and list it in adopt: [{gone.volume_id}]" if gone.retained else "")
        kept = "keeps" if gone.retained else "forgets"
        rule = f"Nomad {kept} volume {gone.volume_id}; {gone} stays at its storage provider, with what is on it"
        found.notes.append(Problem(key, value, rule, again))
    elif gone.retained and gone.protected is False:
        rule = f"{gone} leaves the stack and stays in AWS, with what is on it"
        found.warnings.append(Problem(key, value, rule, f"{keep} with adopt: true to use it again"))
    elif gone.protected:
        remedy = f"{keep}{named}. {_way_out(gone)}, run `pulumi up`, and then remove it"
        found.problems.append(Problem(key, value, f"{gone} would be deleted, and protect: true keeps it", remedy))
    else:
        remedy = f"{keep} to keep it{named}{_without_stack(gone)}"
        found.warnings.append(Problem(key, value, _deleted(gone), remedy))


def _candidates(gone: StoredVolume, new: list[Volume]) -> str:
    """Returns how to say that a new volume is the one that goes."""
    if gone.provision == "plugin":
        return ""
    names = dict.fromkeys(one.name for one in new if one.provision == gone.provision)
    entry = f"the entry {' or '.join(names)}" if names else "its entry"
    return f"; if it has another name now, give {entry} renamedFrom: {gone.volume_id.partition('[')[0]}"


def _way_out(gone: StoredVolume) -> str:
    if gone.provision == "plugin":
        return "To delete it set protect: false"
    return "To keep it in AWS without the stack set retain: true and protect: false, to delete it protect: false"


def _without_stack(gone: StoredVolume) -> str:
    return "" if gone.provision == "plugin" else "; retain: true, with a `pulumi up` before, leaves it in AWS"


def _deleted(gone: StoredVolume) -> str:
    if gone.provision == "plugin":
        unless = "" if gone.protected is False else ", unless it is protected"
        return f"its driver deletes {gone} with what is on it{unless}; no snapshot is taken"
    if gone.final_snapshot:
        return f"{gone} is deleted after a final snapshot, from which a volume can be restored (snapshotId)"
    return f"{gone} is deleted with what is on it: no final snapshot is taken of it (finalSnapshot)"
