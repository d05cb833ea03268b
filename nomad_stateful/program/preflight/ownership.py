"""Whose the jobs and volumes of the plan are, before anything is overwritten or, later, purged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from nomad_stateful.nomad import registration
from nomad_stateful.program.plan.model import Plan, Volume
from nomad_stateful.program.preflight import adoption
from nomad_stateful.program.settings import Problem
from nomad_stateful.program.settings.identity_rules import external_identity
from nomad_stateful.resource_types import EBS_VOLUME, NOMAD_CSI_REGISTRATION, NOMAD_CSI_VOLUME, NOMAD_JOB, OWNERSHIP
from nomad_stateful.schema.jobs import NOTHING, UNCLAIMED


@dataclass(frozen=True)
class Subject:
    """A job or volume of the plan."""

    key: str
    kind: str
    id: str

    @property
    def name(self) -> str:
        """Its name among both kinds."""
        return f"{self.kind}/{self.id}"


@dataclass(frozen=True)
class Known:
    """What this stack's state has: its jobs and volumes, by namespace and name, and what goes with them."""

    subjects: frozenset[tuple[str, str]] = frozenset()
    owner_ids: Mapping[tuple[str, str], str] = field(default_factory=dict)
    ebs_volumes: frozenset[str] = frozenset()
    adopted: Mapping[str, str] = field(default_factory=dict)
    """EBS volumes that become the stack's by their tags, by the id in Nomad; `ebs_volumes` has them, too."""

    @classmethod
    def of(cls, resources: Iterable[Mapping[str, Any]], adopted: Mapping[str, str] | None = None) -> Known:
        """Reads resources, each with its type and outputs."""
        adopted = adopted or {}
        subjects, owner_ids, ebs_volumes = set(), {}, set(adopted.values())
        for resource in resources:
            kind, outputs = resource["type"], resource.get("outputs") or {}
            namespace = outputs.get("namespace") or "default"
            if kind == NOMAD_JOB:
                subjects.add((namespace, f"job/{outputs.get('name')}"))
            elif kind in (NOMAD_CSI_REGISTRATION, NOMAD_CSI_VOLUME):
                subjects.add((namespace, f"volume/{outputs.get('volumeId')}"))
            elif kind == OWNERSHIP:
                owner_ids[namespace, f"{outputs.get('kind')}/{outputs.get('resourceId')}"] = outputs.get("ownerId", "")
            elif kind == EBS_VOLUME:
                ebs_volumes.add(str(outputs.get("id")))
        return cls(frozenset(subjects), owner_ids, frozenset(ebs_volumes), adopted)


def subjects(plan: Plan) -> list[Subject]:
    """Returns everything in Nomad that has an id of the plan."""
    jobs = [Subject(key, "job", job) for job, key in plan.job_keys.items()]
    return [*jobs, *(Subject(f"{volume.key}.name", "volume", volume.id) for volume in plan.volumes)]


def question(plan: Plan) -> dict[str, Any]:
    """Returns what getOwners is asked."""
    asked = subjects(plan)
    ids = {kind: [subject.id for subject in asked if subject.kind == kind] for kind in ("job", "volume")}
    return {"namespace": plan.namespace, "jobs": ids["job"], "volumes": ids["volume"]}


@dataclass(frozen=True)
class Verdict:
    """What is refused, and what each claim may find (see Ownership)."""

    problems: list[Problem]
    expects: dict[str, str]


def strange_volumes(plan: Plan, known: Known, answer: Mapping[str, Any]) -> list[str]:
    """Returns the volumes that are neither claimed nor in the state: who uses them decides whether they can be had."""
    return [
        one["id"]
        for one in answer["found"]
        if one["kind"] == "volume"
        and one["exists"]
        and not one["ownerId"]
        and (plan.namespace, f"volume/{one['id']}") not in known.subjects
    ]


def judge(plan: Plan, stack: str, known: Known, answer: Mapping[str, Any]) -> Verdict:
    """Compares what the plan names with what Nomad has and this stack's state holds."""
    registered = {(one["namespace"], one["id"]): one for one in answer["registrations"]}
    found = {f"{one['kind']}/{one['id']}": one for one in answer["found"]}
    look = _Look(plan, stack, known, registered)
    problems: list[Problem] = []
    expects = {}
    for subject in subjects(plan):
        verdict = look.at(subject, found[subject.name])
        if not isinstance(verdict, str):
            problems += verdict
        else:
            expects[subject.name] = verdict
    problems += _second_registrations(plan, known, registered.values())
    return Verdict(problems, expects)


@dataclass(frozen=True)
class _Look:
    plan: Plan
    stack: str
    known: Known
    registered: Mapping[tuple[str, str], Mapping[str, str]]

    @property
    def namespace(self) -> str:
        return self.plan.namespace

    def at(self, subject: Subject, found: Mapping[str, Any]) -> str | list[Problem]:
        """Returns what the claim may find, or what is wrong."""
        here = (self.namespace, subject.name)
        in_state, owner_id = here in self.known.subjects, self.known.owner_ids.get(here)
        adopted = subject.id in self.plan.taken_over
        if found["ownerId"]:
            # Of a stack of this name: an update that was cut off when it had the claim, or had not yet given it up.
            idle = not found["exists"] or found["stopped"]
            cut_off = found["stack"] == self.stack and (in_state or idle or adopted)
            if found["ownerId"] in self.known.owner_ids.values() or (owner_id is None and cut_off):
                return str(found["ownerId"])
            return [self._another_stacks(subject, found)]
        if in_state or owner_id is not None:
            return UNCLAIMED
        return self._unclaimed(subject, found, adopted=adopted) if found["exists"] else NOTHING

    def _unclaimed(self, subject: Subject, found: Mapping[str, Any], *, adopted: bool) -> str | list[Problem]:
        if self._is_own_volume(subject):
            # Without `adopt` on the volume this stack wrote it, and was cut off before the answer arrived.
            is_adopted = self.plan.volume(subject.id).adopt
            return (self._different(subject, found) if is_adopted else []) or NOTHING
        if adopted and self._can_adopt(subject):
            return self._different(subject, found) or UNCLAIMED
        return [self._nobodys(subject, found)]

    def _is_own_volume(self, subject: Subject) -> bool:
        """Returns whether what is registered is an EBS volume of this stack, or becomes one."""
        there = self.registered.get((self.namespace, subject.id)) if subject.kind == "volume" else None
        return there is not None and there["externalId"] in self.known.ebs_volumes

    def _can_adopt(self, subject: Subject) -> bool:
        """Returns whether it stays the same thing: a volume that is created is another one."""
        if subject.kind == "job":
            return True
        there = self.registered.get((self.namespace, subject.id))
        return there is None or there["externalId"] == self.plan.volume(subject.id).external_id

    def _different(self, subject: Subject, found: Mapping[str, Any]) -> list[Problem]:
        """Returns what would be changed of a registration, under the jobs that use it."""
        known = registration.parsed(found.get("registered") or "") if subject.kind == "volume" else None
        if known is None:
            return []
        volume = self.plan.volume(subject.id)
        # Where neither gives it, it is in the state since an `up` that was cut off.
        external_id = self.known.adopted.get(subject.id) or volume.external_id or known.external_id
        return list(adoption.differences(volume, external_id, known))

    def _another_stacks(self, subject: Subject, found: Mapping[str, Any]) -> Problem:
        same_name = found["stack"] == self.stack
        whose = "a stack of this name, with another state" if same_name else f"another stack, {found['stack']}"
        purge = "" if same_name else f" after `nomad var purge -namespace {self.namespace} {found['claim']}`"
        return Problem(
            subject.key,
            subject.id,
            f"the {subject.kind} of this id in namespace {self.namespace} belongs to {whose}",
            "choose another id, or another placement.namespace. If that stack has released it, or is gone, "
            f"{_adopt(subject)}{purge}",
        )

    def _nobodys(self, subject: Subject, found: Mapping[str, Any]) -> Problem:
        rule = f"namespace {self.namespace} has such a {subject.kind}, and it is not in this stack's state"
        remedy = "choose another id, or another placement.namespace; if it is to become this stack's, "
        if subject.kind == "job":
            rule += ": it, or its variable, would be overwritten, and purged by a destroy"
            return Problem(subject.key, subject.id, rule, remedy + _adopt(subject))
        external_id = self.registered.get((self.namespace, subject.id), {}).get("externalId", "")
        rule += f" (it is {external_id})" if external_id else ""
        if self._strangers(found):
            rule += f", and job {', '.join(self._strangers(found))} uses it"
        as_it_is = f"set provision: existing with externalId: {external_id}, and "
        return Problem(subject.key, subject.id, rule, remedy + as_it_is + _adopt(subject))

    def _strangers(self, found: Mapping[str, Any]) -> list[str]:
        """Returns the jobs that use a volume and are not in the settings."""
        return [user for user in found["users"] if user.partition("/")[0] not in self.plan.job_keys]


def _adopt(subject: Subject) -> str:
    return f"list it in adopt: [{subject.id}]"


def _second_registrations(plan: Plan, known: Known, registered: Iterable[Mapping[str, str]]) -> Iterator[Problem]:
    """Yields volumes not made here that are registered under another id: Nomad would let both have a writer."""
    for volume, external_id in _not_made_here(plan, known):
        adopted = volume.external_id is None
        key = f"{volume.key}.{'adopt' if adopted else 'externalId'}"
        if not adopted and external_id in known.ebs_volumes:
            rule = "this stack made this volume itself, under another name"
            yield Problem(key, external_id, rule, "mount that one wherever it is needed, and remove this one")
        for one in registered:
            there = (one["namespace"], f"volume/{one['id']}")
            by = one["pluginId"] if one["pluginId"] in plan.drivers else volume.plugin
            same = external_identity(plan.drivers[by], by, one["externalId"])
            if there == (plan.namespace, f"volume/{volume.id}") or there in known.subjects:
                continue
            if same == external_identity(volume.driver, volume.plugin, external_id):
                yield Problem(
                    key,
                    f"true, for {external_id}" if adopted else external_id,
                    f"it is registered as volume {one['id']} in namespace {one['namespace']}, and Nomad counts the "
                    "writers of each registration separately",
                    f"deregister that one (`nomad volume deregister -namespace {one['namespace']} {one['id']}`), or "
                    "use another volume",
                )


def _not_made_here(plan: Plan, known: Known) -> Iterator[tuple[Volume, str]]:
    """Yields volumes that exist already and may have one writer, each with its id at the provider."""
    for volume in plan.volumes:
        if volume.registration["access_mode"] in ("multi-node-multi-writer", "multi-node-reader-only"):
            continue
        external_id = volume.external_id or known.adopted.get(volume.id)
        if external_id is not None:
            yield volume, external_id
