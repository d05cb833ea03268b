"""What a drill will do, in words, and the question whether it shall."""

from __future__ import annotations

import sys

from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.operate.drill import place
from nomad_stateful.operate.drill import report as reports
from nomad_stateful.operate.drill.model import DrillError, Dump, Options, Report, Scratch, Target


def text(nomad: NomadApi, target: Target, report: Report, options: Options, scratch: Scratch | None) -> str:
    """Returns the plan; without a scratch volume nothing is restored. Raises NomadError."""
    if scratch is None or report.backup is None:
        why = f"there is no dump in {report.dumps}" if report.dumps else f"volume {target.volume} has no snapshot"
        return f"nothing is restored: {why}{' of before --to' if options.to else ''}"
    made = "" if place.exists(nomad, target.namespace) else " (made and removed)"
    what = (
        f"run `{options.check}` in its consumer's task"
        if options.check
        else "start MySQL, check its tables, count rows"
    )
    return (
        f"{_restored(target, report, scratch)}\n{_replayed(report)}"
        f"register it as {target.id} in namespace {target.namespace}{made}; {what}\n"
        + ("take a snapshot of it, and " if options.keep else "")
        + "remove all of it. The live volume, its job and its namespace are not touched"
    )


def of_removal(target: Target) -> str:
    """Returns the plan of --clean."""
    return f"remove what drills of volume {target.volume} left: {target.id} in Nomad, EBS volumes tagged {target.tag}"


def _restored(target: Target, report: Report, scratch: Scratch) -> str:
    found = report.backup
    if isinstance(found, Dump):
        return (
            f"load {found.id} ({reports.mib(found.size)}) of {report.dumps} into a new server on an empty EBS volume "
            f"({scratch.size_gib} GiB, {target.zone})"
        )
    taken = "" if found is None else f"{found.id} ({reports.taken(found)})"
    return f"restore {taken} to an EBS volume ({scratch.size_gib} GiB, {target.zone})"


def _replayed(report: Report) -> str:
    if report.to is None:
        return ""
    return (
        f"apply {report.logs} binary logs ({reports.mib(report.log_bytes)}) up to {report.to:%Y-%m-%dT%H:%M:%S.%fZ}\n"
    )


def confirm(plan: str, *, yes: bool) -> None:
    """Shows the plan and asks. Raises DrillError where the answer is no, or nobody can give one."""
    print(plan, file=sys.stderr)
    if yes:
        return
    if not sys.stdin.isatty():
        raise DrillError("nothing was done: this is the plan. Add --yes to run it")
    print("Run it? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise DrillError("nothing was done")
