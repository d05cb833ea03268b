"""What is wrong with the age of what is restored, and of its newest row."""

from __future__ import annotations

from nomad_stateful.ebs.snapshots import Snapshot
from nomad_stateful.operate.drill.model import Report


def judge(report: Report, max_age_s: float | None) -> None:
    """Adds what is wrong before anything is restored: no snapshot or dump, or an old one."""
    found = report.backup
    if found is None:
        report.wrong(*(_no_dump(report) if report.dumps else _no_snapshot(report)))
    elif max_age_s is not None and (report.rpo_s or 0) > max_age_s:
        report.wrong(
            f"the newest {report.what}, {found.id}, is {_span(report.rpo_s or 0)} old: --max-age allows "
            f"{_span(max_age_s)}",
            "see whether the schedule still runs (`aws dlm get-lifecycle-policies --state ERROR`, and the policy's "
            f"role); for a snapshot now: `nomad-stateful snapshot {report.volume}`"
            if isinstance(found, Snapshot)
            else f"see whether they still run and are copied (`nomad-stateful status`); {_DUMP_NOW}",
        )


def judge_newest(report: Report, max_lag_s: float) -> None:
    """Adds what is wrong with a newest row that is much older than what was restored: rows are missing from it."""
    found = report.backup
    if found is None or report.newest is None:
        return
    what = "point in time" if report.to else report.what
    lag_s = ((report.to or found.taken) - report.newest).total_seconds()
    if lag_s > max_lag_s:
        why = (
            " (the snapshot's redo log may be damaged, or something was written without the binary log)"
            if isinstance(found, Snapshot)
            else ""
        )
        report.wrong(
            f"the newest row is {_span(lag_s)} older than the {what}: --max-lag allows {_span(max_lag_s)}",
            f"see whether the live server has newer rows of that time: if it has, the {what} lacks them{why}: "
            f"{report.earlier}",
        )


def _no_snapshot(report: Report) -> tuple[str, str]:
    early = f" that was begun 15 s before {report.to:%Y-%m-%dT%H:%M:%SZ}, or earlier" if report.to else ""
    return (
        f"there is no completed snapshot of volume {report.volume}{early}",
        (
            "schedule them (volumes[].snapshots, docs/volumes.md) and run `pulumi up`; for one now: `nomad-stateful "
            f"snapshot {report.volume}`"
        ),
    )


def _no_dump(report: Report) -> tuple[str, str]:
    return f"there is no dump in {report.dumps}", f"see what keeps them (`nomad-stateful status`); {_DUMP_NOW}"


_DUMP_NOW = "for one now: `nomad job periodic force mysql-backup`"


def _span(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds:.0f} s"
