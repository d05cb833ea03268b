"""The overview as one screen of text."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from nomad_stateful.nomad.csi_starts import controllers_of, words
from nomad_stateful.nomad.group_members import MemberState
from nomad_stateful.nomad.running_job import LIVE
from nomad_stateful.nomad.volume_claims import Claim
from nomad_stateful.operate.overview.facts import FULL, NEARLY_FULL, JobLine, Overview, PluginLine, VolumeLine
from nomad_stateful.terminal import Cell, Line, Span, Style, table

_NONE = Span("-", "dim")
_HEALTHY_IN_EC2 = ("in-use", "available")


def lines(overview: Overview, now: datetime) -> list[Line]:
    """Returns the screen: what there is, then what is wrong."""
    wrong = list(overview.problems())
    state = Span(f"{len(wrong)} wrong", "bad") if wrong else Span("all in order", "good")
    found: list[Line] = [[Span(f"{overview.stack}  ", "bold"), Span(f"{overview.place}  ", "dim"), state]]
    found += _block(_clients(overview))
    found += _block(_plugins(overview.plugins))
    found += _block(_volumes(overview.volumes, now))
    found += _block(_jobs(overview.jobs))
    found += _block(_members(overview.members))
    if overview.backup_job:
        newest = overview.newest_backup or "none that Nomad remembers"
        found += [[], [Span("newest dump  ", "dim"), Span(f"{newest} ({overview.backup_job})")]]
    found += [[], *starting] if (starting := _starting(overview.plugins)) else []
    found += [[Span("not read  ", "dim"), Span(why, "warn")] for why in overview.unread]
    if wrong:
        found += [[], [Span("WRONG", "bad")], *([Span(f"  {who}: {what}", "bad")] for who, what in wrong)]
    return found


def _block(rows: Sequence[Sequence[Cell]]) -> list[Line]:
    return [[], *table(rows)] if len(rows) > 1 else []


def _clients(overview: Overview) -> list[Sequence[Cell]]:
    rows: list[Sequence[Cell]] = [("ZONE", "CLIENT", "STATE", "INSTANCE")]
    zone = None
    for client in overview.clients:
        shown = "" if client.zone == zone else client.zone or "no zone"
        zone = client.zone
        style: Style = "good" if client.state == "ready" else ("bad" if client.status != "ready" else "warn")
        rows.append((shown, client.name, Span(client.state, style), client.instance_id or _NONE))
    return rows


def _plugins(plugins: Sequence[PluginLine]) -> list[Sequence[Cell]]:
    zones = sorted({zone for plugin in plugins for zone in plugin.zones})
    rows: list[Sequence[Cell]] = [("PLUGIN", "VERSION", "CONTROLLERS", *(zone.upper() or "NO ZONE" for zone in zones))]
    for plugin in plugins:
        by_zone = [_counts(plugin.zones.get(zone), plugin.zones_of_starts.get(zone, 0)) for zone in zones]
        controllers = _counts(plugin.controllers, len(controllers_of(plugin.starts)))
        rows.append((plugin.plugin_id, plugin.version or _NONE, controllers, *by_zone))
    return rows


def _counts(counts: tuple[int, int] | None, starting: int = 0) -> Span:
    """Returns how many of how many are healthy."""
    if not counts or not counts[1]:
        return _NONE
    healthy, all_ = counts
    style: Style = "good" if healthy == all_ else ("warn" if healthy + starting >= all_ else "bad")
    return Span(f"{healthy} of {all_} healthy", style)


def _starting(plugins: Sequence[PluginLine]) -> list[Line]:
    return [
        [Span("starting  ", "dim"), Span(f"{plugin.plugin_id}: {words(one)}", "warn")]
        for plugin in plugins
        for one in plugin.starts
    ]


def _volumes(volumes: Sequence[VolumeLine], now: datetime) -> list[Sequence[Cell]]:
    heading = ("VOLUME", "AT THE PROVIDER", "ZONE", "SIZE", "USE", "EC2", "CLAIMED BY", "ON CLIENT", "SNAPSHOT")
    rows: list[Sequence[Cell]] = [heading]
    for line in volumes:
        own = (
            line.volume.name,
            line.volume.usage.external_id,
            line.zone or _NONE,
            line.size or _NONE,
            use(line),
            _storage(line),
        )
        claims = list(_claims(line))
        for number, (claim, client) in enumerate(claims or [(_NONE, _NONE)]):
            first = own if number == 0 else ("",) * len(own)
            age = Span(_age(line.snapshot, now)) if line.snapshot else Span("none", "dim")
            rows.append((*first, claim, client, age if number == 0 else ""))
    return rows


def use(line: VolumeLine) -> Span:
    """Returns how full the file system is; "-" where nobody has it mounted, or the client does not say."""
    if line.part is None:
        return _NONE
    style: Style = "bad" if line.part >= FULL else ("warn" if line.part >= NEARLY_FULL else "good")
    return Span(f"{line.part:.0%}", style)


def _storage(line: VolumeLine) -> Span:
    usage = line.volume.usage
    if usage.attached is None:
        return Span("EC2 does not say", "bad") if usage.ec2_error else _NONE
    if not usage.attached.attachments:
        return Span(usage.attached.state, "good" if usage.attached.state in _HEALTHY_IN_EC2 else "bad")
    places = [(item.state, usage.client_on(item.instance_id), item.instance_id) for item in usage.attached.attachments]
    text = ", ".join(f"{state} to {client.name if client else instance}" for state, client, instance in places)
    return Span(text, "good" if all(state == "attached" for state, _, _ in places) else "bad")


def _claims(line: VolumeLine) -> Iterator[tuple[Span, Span]]:
    for claim in line.volume.usage.claims:
        client = line.volume.usage.client_of(claim)
        where = f"{client.name} ({client.status})" if client else "-"
        style: Style = "good" if client and client.status == "ready" else "bad"
        yield _claim(claim), Span(where, style)


def _claim(claim: Claim) -> Span:
    text = f"{claim.job_id or 'a purged job'} {claim.alloc_id[:8]} ({claim.status or 'forgotten'})"
    return Span(text, "good" if claim.status in LIVE else "bad")


def _jobs(jobs: Sequence[JobLine]) -> list[Sequence[Cell]]:
    rows: list[Sequence[Cell]] = [("CONSUMER", "STATE", "RUNNING", "ON")]
    for job in jobs:
        style: Style = "bad" if job.running < job.wanted else "good"
        counts = Span(f"{job.running} of {job.wanted}" if job.wanted else str(job.running), style)
        rows.append((job.job_id, job.status, counts, ", ".join(job.clients) or _NONE))
    return rows


def _members(members: Sequence[MemberState]) -> list[Sequence[Cell]]:
    rows: list[Sequence[Cell]] = [("MEMBER", "ZONE", "CLIENT", "STATE", "ROLE", "LAG")]
    for one in members:
        client = one.at.node_name if one.at else ""
        state = Span(one.state or "cannot be asked", "good" if one.is_online else "bad")
        lag = _NONE if one.lag_s is None else f"{one.lag_s:.1f} s"
        rows.append((one.job, one.zone or _NONE, client or _NONE, state, one.role or _NONE, lag))
    return rows


def _age(then: datetime, now: datetime) -> str:
    """Returns how long ago that was, in the largest unit."""
    seconds = max(0, (now.astimezone(UTC) - then).total_seconds())
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length:.0f} {unit} ago"
    return f"{seconds:.0f} s ago"
