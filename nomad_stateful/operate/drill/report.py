"""What came of a drill, as text, as JSON and as metrics."""

import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nomad_stateful.columns import columns
from nomad_stateful.ebs.snapshots import Snapshot
from nomad_stateful.nomad.commands import scope
from nomad_stateful.operate.drill.model import DrillError, Dump

_METRICS = {
    "nomad_stateful_drill_success": "Whether the last restore drill of the volume passed (1) or not (0).",
    "nomad_stateful_drill_timestamp_seconds": "When the last restore drill of the volume ended.",
    "nomad_stateful_drill_rpo_seconds": "Age of the snapshot or dump that the volume's last restore drill restored.",
    "nomad_stateful_drill_rto_seconds": "Time until the server answered in the last restore drill of the volume.",
}
_SAMPLE = re.compile(r'(nomad_stateful_drill_\w+)\{(volume="(?:[^"\\]|\\.)*"(?:,backup="dump")?)\} (\S+)')
_SHOWN_TABLES = 40


@dataclass(frozen=True)
class Finding:
    """Something that makes a drill red."""

    what: str
    next: str
    """What to do about it."""


@dataclass(frozen=True)
class Table:
    """One table of the restored server."""

    name: str
    rows: int | None
    """None where they could not be counted."""
    status: str
    """OK, or what is wrong with it."""
    is_servers: bool = False
    """Whether it is one of the server's own, or of `verify`."""

    @property
    def ok(self) -> bool:
        return self.status == "OK" and self.rows is not None


@dataclass
class Report:
    """What came of a drill; it is filled in as the drill goes on."""

    volume: str
    started: datetime
    backup: Snapshot | Dump | None = None
    """What is restored; None where there is none."""
    dumps: str = ""
    """Where the stack's dumps are, as s3://BUCKET/PREFIX; "" where a snapshot is restored."""
    dump_job: str = ""
    """The job that makes them."""
    dump_namespace: str = "default"
    to: datetime | None = None
    """The point in time that binary logs were applied up to; None where the snapshot is as it was."""
    logs: int = 0
    """How many logs were applied."""
    log_bytes: int = 0
    """Their size."""
    kept: str = ""
    """The snapshot of what was restored."""
    server: str = ""
    """Version of the server that ran on the scratch volume."""
    phases: dict[str, float] = field(default_factory=dict)
    """Seconds by phase, in order."""
    rto_s: float | None = None
    """From the first request until the server answered (with the dump loaded), or the consumer's check had passed; None
    where it never did."""
    tables: list[Table] = field(default_factory=list)
    newest: datetime | None = None
    output: Sequence[str] = ()
    """The last lines of the consumer's check, or of a server that failed."""
    notes: list[str] = field(default_factory=list)
    """What is no fault of the snapshot, and has to be known by whoever goes on from it."""
    replayed: bool = False
    """Whether the server has every transaction up to the point in time."""
    unchecked: bool = False
    """Whether nothing is wrong with what was restored but that the checks took too long, or there was no table."""
    findings: list[Finding] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    """What could not be removed."""

    @property
    def ok(self) -> bool:
        return not self.findings

    @property
    def rpo_s(self) -> float | None:
        """Age of what was restored: what would be lost if the volume were lost now."""
        if self.backup is None:
            return None
        return max(0.0, (self.started - (self.to or self.backup.taken)).total_seconds())

    @property
    def what(self) -> str:
        """What is restored, in a word."""
        return "dump" if self.dumps else "snapshot"

    @property
    def earlier(self) -> str:
        """How an earlier one is drilled."""
        if self.dumps:
            return f"drill earlier dumps (`aws s3 ls {self.dumps}`, then --dump NAME)"
        return "drill earlier snapshots (`nomad-stateful snapshots`, then --snapshot ID)"

    @property
    def dump_now(self) -> str:
        """How another dump is made."""
        return f"for one now: `nomad job periodic force{scope(self.dump_namespace)} {self.dump_job}`"

    def wrong(self, what: str, then: str) -> None:
        """Adds a finding."""
        self.findings.append(Finding(what, then))


def text(report: Report) -> str:
    """Returns the report for people."""
    return "\n".join(_lines(report))


def _lines(report: Report) -> Iterator[str]:
    yield f"volume    {report.volume}"
    if report.backup is not None:
        yield from _restored(report, report.backup)
    yield from _times(report)
    if report.server:
        yield f"server    {report.server}"
    if report.tables:
        users = [table for table in report.tables if not table.is_servers]
        counted = sum(table.rows or 0 for table in users)
        yield f"tables    {len(report.tables)} checked; {counted} rows in {len(users)}, without the server's own"
    if report.newest is not None:
        yield f"newest    {_time(report.newest)} ({_span((report.started - report.newest).total_seconds())} old)"
    yield from _tables(report)
    if report.output:
        yield from ("", "output", *(f"    {line}" for line in report.output))
    yield from (f"note      {note}" for note in report.notes)
    for finding in report.findings:
        yield from ("", f"RED   {finding.what}", f"next: {finding.next}")
    for left in report.left:
        yield f"left: {left}"
    if report.kept:
        how = ": every transaction is in it, not every table was checked" if report.unchecked else ""
        yield f"kept      {report.kept}, a snapshot of what was restored{how}"
    yield from (
        "",
        f"GREEN: the {report.what} can be restored, and all of the drill is removed" if report.ok else "RED",
    )


def _times(report: Report) -> Iterator[str]:
    if report.rto_s is not None:
        yield f"RTO       {_span(report.rto_s)}"
    if report.phases:
        yield f"phases    {', '.join(f'{name} {seconds:.1f} s' for name, seconds in report.phases.items())}"


def _restored(report: Report, found: Snapshot | Dump) -> Iterator[str]:
    if isinstance(found, Dump):
        yield f"dump      {found.id} ({mib(found.size)}) of {report.dumps}, begun {_time(found.taken)}"
    else:
        yield f"snapshot  {found.id}, taken {_time(found.taken)}"
    if report.to is not None:
        yield f"logs      {report.logs} ({mib(report.log_bytes)}), up to {_time(report.to)}"
    yield f"RPO       {_span(report.rpo_s)} (age of the {report.what if report.to is None else 'point in time'})"


def _tables(report: Report) -> Iterator[str]:
    """Yields the damaged tables, and the largest of the others that are not the server's own."""
    damaged = [table for table in report.tables if not table.ok]
    whole = sorted(
        (table for table in report.tables if table.ok and not table.is_servers), key=lambda one: -(one.rows or 0)
    )
    shown = [*damaged, *whole[: max(0, _SHOWN_TABLES - len(damaged))]]
    if shown:
        rows = [("TABLE", "ROWS", "CHECK")]
        rows += [(table.name, "?" if table.rows is None else str(table.rows), table.status) for table in shown]
        yield from ("", columns(rows))
    if len(shown) < len(damaged) + len(whole):
        yield f"and {len(damaged) + len(whole) - len(shown)} smaller ones, all OK"


def taken(snapshot: Snapshot) -> str:
    """Returns when a snapshot was taken, for people."""
    return f"taken {_time(snapshot.taken)}"


def mib(size: int) -> str:
    """Returns a number of bytes, for people."""
    return f"{size / (1 << 20):.1f} MiB"


def as_json(report: Report) -> dict[str, Any]:
    """Returns the report for scripts; times are in UTC, as 2026-01-01T03:00:00Z."""
    return {
        "ok": report.ok,
        "volume": report.volume,
        "snapshot": None,
        "dump": None,
        **_backup(report),
        "to": None if report.to is None else report.to.isoformat(),
        "logs": report.logs,
        "logBytes": report.log_bytes,
        "kept": report.kept,
        "rpoSeconds": report.rpo_s,
        "rtoSeconds": report.rto_s,
        "phases": report.phases,
        "server": report.server,
        "tables": [{"name": table.name, "rows": table.rows, "status": table.status} for table in report.tables],
        "newest": None if report.newest is None else _time(report.newest),
        "newestAgeSeconds": None if report.newest is None else (report.started - report.newest).total_seconds(),
        "output": list(report.output),
        "notes": list(report.notes),
        "findings": [{"what": finding.what, "next": finding.next} for finding in report.findings],
        "left": report.left,
    }


def _backup(report: Report) -> dict[str, Any]:
    found = report.backup
    if found is None:
        return {}
    if isinstance(found, Dump):
        place = f"{report.dumps}{found.id}"
        return {"dump": {"name": found.id, "begun": _time(found.taken), "sizeBytes": found.size, "place": place}}
    return {"snapshot": {"id": found.id, "taken": _time(found.taken), "sizeGib": found.size_gib}}


def write_metrics(report: Report, path: Path) -> None:
    """Writes the volume's metrics, and keeps those of other volumes, at once or not at all. Raises DrillError.

    Those of its dumps have a label more: each kind of drill keeps the other's.
    """
    try:
        kept = _SAMPLE.findall(path.read_text(encoding="utf-8")) if path.exists() else []
        volume = re.sub(r'(["\\])', r"\\\1", report.volume)
        labels = f'volume="{volume}"' + (',backup="dump"' if report.dumps else "")
        samples = [one for one in kept if one[0] in _METRICS and one[1] != labels]
        samples += [(name, labels, value) for name, value in _values(report)]
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
            for name, text_of in _METRICS.items():
                file.write(f"# HELP {name} {text_of}\n# TYPE {name} gauge\n")
                file.writelines(f"{one}{{{of}}} {value}\n" for one, of, value in samples if one == name)
        # The collector is another user's.
        Path(file.name).chmod(0o644)
        Path(file.name).replace(path)
    except OSError as error:
        raise DrillError(
            f"--metrics: {path} cannot be written: {error.strerror}. Name a file in a folder that is there"
        ) from error


def _values(report: Report) -> Iterator[tuple[str, str]]:
    yield "nomad_stateful_drill_success", str(int(report.ok))
    yield "nomad_stateful_drill_timestamp_seconds", f"{datetime.now(UTC).timestamp():.0f}"
    if report.rpo_s is not None:
        yield "nomad_stateful_drill_rpo_seconds", f"{report.rpo_s:.0f}"
    if report.rto_s is not None:
        yield "nomad_stateful_drill_rto_seconds", f"{report.rto_s:.2f}"


def _time(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _span(seconds: float | None) -> str:
    if seconds is None:
        return "?"
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
