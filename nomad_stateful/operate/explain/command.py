"""The command `explain`."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, replace

from nomad_stateful import pages
from nomad_stateful.nomad.consumer_job import volume_ids
from nomad_stateful.operate.doctor.checks import replication
from nomad_stateful.operate.doctor.facts import Facts, NotChecked, Sources
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.explain import jobs, volumes
from nomad_stateful.operate.explain.reason import Reason, Scene
from nomad_stateful.operate.frame import Command, reads_only
from nomad_stateful.terminal import Line, Span, rendered, takes_colour
from nomad_stateful.visible import obeyed


class StuckError(OperateError):
    """Something keeps it waiting; it is printed."""


def explain(name: str, *, as_json: bool) -> None:
    """Prints why a volume or job is pending or stuck. Raises StuckError where it is, and OperateError."""
    with closing(Facts(Sources.of_stack())) as facts:
        try:
            kind, found = reasons(facts, name)
        except NotChecked as error:
            raise OperateError(f"{name} cannot be explained: {error}") from None
    if as_json:
        print(json.dumps({"kind": kind, "name": name, "ok": not found, "reasons": list(map(asdict, found))}, indent=2))
    else:
        said = pages.located(text(kind, name, found))
        print(rendered(coloured(said), colour=takes_colour(sys.stdout)), file=obeyed(sys.stdout))
    if found:
        raise StuckError(f"{kind} {name} is held up: see above" if not as_json else found[0].what)


def reasons(facts: Facts, name: str) -> tuple[str, list[Reason]]:
    """Returns what a name is of, and what holds it up. Raises OperateError and NotChecked."""
    scene = Scene(facts, facts.namespace())
    if scene.job(name) is not None:
        return "job", [*jobs.reasons(scene, name), *_of_group(facts, name)]
    if scene.volume(name) is not None or name in _volume_names(facts):
        return "volume", _of_volume(scene, name)
    if name in _job_names(facts):
        return "job", jobs.reasons(scene, name)
    known = ", ".join([*_volume_names(facts), *_job_names(facts)])
    raise OperateError(f"neither Nomad (namespace {scene.namespace}) nor the stack has {name}: the stack has {known}")


def _of_group(facts: Facts, job_id: str) -> Iterator[Reason]:
    """Yields what is wrong with a member of a replication group, or with all of it where the job is the routers'."""
    server = facts.server()
    if server is None or job_id not in {server.job, *(one.job for one in server.members)}:
        return
    for member, one in replication.findings(facts):
        # Why a member has no allocation, the reasons of its job say.
        if job_id == server.job or (member is not None and member.job == job_id and member.at is not None):
            yield Reason(one.what, one.why, one.cure, one.link)


def _of_volume(scene: Scene, volume_id: str) -> list[Reason]:
    """Returns what is wrong with a volume, and why the jobs that ask for it do not run."""
    found = list(volumes.stuck_reasons(scene, volume_id))
    for stub in scene.read("jobs") or []:
        if stub.get("Stop") or volume_id not in volume_ids(scene.job(str(stub["ID"])) or {}):
            continue
        found += [replace(one, what=f"job {stub['ID']}: {one.what}") for one in jobs.reasons(scene, str(stub["ID"]))]
    return list(dict.fromkeys(found))


def _volume_names(facts: Facts) -> list[str]:
    return sorted(str(volume.get("name")) for volume in facts.volumes())


def _job_names(facts: Facts) -> list[str]:
    server = facts.database()
    made = [job_id for job_id, _ in facts.jobs()]
    return sorted({*made, *([str(server[1].get("jobId") or server[0].job("server"))] if server else [])})


def text(kind: str, name: str, found: Sequence[Reason]) -> str:
    """Returns the reasons, each with the next command."""
    if not found:
        return f"{kind} {name}: in order, nothing holds it up"
    lines = [f"{kind} {name}:"]
    for reason in found:
        lines += [
            f"  {reason.what}",
            f"      why:  {reason.why}",
            f"      next: {reason.next}",
            f"      more: {reason.link}",
        ]
    return "\n".join(lines)


def coloured(said: str) -> list[Line]:
    """Returns the lines of such a text, with what holds it up in red."""
    styled: list[Line] = []
    for line in said.splitlines():
        is_reason = line.startswith("  ") and not line.startswith("   ")
        styled.append([Span(line, "bad" if is_reason else ("" if line.startswith(" ") else "bold"))])
    return styled


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "name", metavar="VOLUME|JOB", help="a volume of the stack, or any job or CSI volume in its namespace"
    )
    parser.add_argument("--json", action="store_true", help="print an object for scripts")


COMMAND = Command(
    "explain",
    "say why a volume or job is pending or stuck, and the next command",
    lambda known: explain(known.name, as_json=known.json),
    _arguments,
    reads_only,
)
