"""What holds each volume: registration, claims, clients, instances and attachments; what is wrong; dumps that fail."""

from collections.abc import Iterator, Sequence

from nomad_stateful.columns import columns
from nomad_stateful.nomad.periodic_runs import FailingRun
from nomad_stateful.nomad.volume_claims import Claim
from nomad_stateful.recovery.plan import recovery_plans
from nomad_stateful.recovery.volume_usage import Client, VolumeUsage
from operate import dumps
from operate.cluster import connect
from operate.command import Command, reads_only
from operate.volumes import StackVolume, stack_volumes

_HEADER = ("VOLUME", "AT THE PROVIDER", "REGISTERED", "CLAIMED BY", "ON CLIENT", "INSTANCE", "ATTACHED TO")
_NONE = "-"


def show() -> str:
    """Returns the table, with what is wrong below it."""
    nomad = connect()
    try:
        return text(stack_volumes(nomad), dumps.failing(nomad))
    finally:
        nomad.close()


def text(volumes: Sequence[StackVolume], failing_dumps: Sequence[FailingRun] = ()) -> str:
    """Returns the table, a row for each claim of a volume."""
    rows = [_HEADER, *[row for volume in volumes for row in _rows(volume)]]
    problems = [
        f"\n{volume.name}: {plan.problem}. `python -m operate recover {volume.name}` says what to do"
        for volume in volumes
        for plan in recovery_plans(volume.usage, wanted_free=False)
    ]
    return "\n".join([columns(rows), *problems, *(f"\n{dumps.text(run)}" for run in failing_dumps)])


def _rows(volume: StackVolume) -> Iterator[tuple[str, ...]]:
    usage = volume.usage
    first = (volume.name, usage.external_id, usage.namespace if volume.registered else "no")
    if not usage.claims:
        yield (*first, _NONE, _NONE, _NONE, _attachments(usage))
    for number, claim in enumerate(usage.claims):
        client = usage.client_of(claim)
        shown = first if number == 0 else ("", "", "")
        attached = _attachments(usage) if number == 0 else ""
        yield (*shown, _claim(claim), _client(client), _instance(usage, client), attached)


def _claim(claim: Claim) -> str:
    return f"{claim.job_id or 'a purged job'} {claim.alloc_id[:8]} ({claim.status or 'forgotten'})"


def _client(client: Client | None) -> str:
    return f"{client.name or client.node_id[:8]} ({client.status})" if client else _NONE


def _instance(usage: VolumeUsage, client: Client | None) -> str:
    if client is None or not client.instance_id:
        return _NONE
    return f"{client.instance_id} ({usage.instance_state(client.instance_id)})"


def _attachments(usage: VolumeUsage) -> str:
    if usage.attached is None:
        return "EC2 does not say" if usage.ec2_error else _NONE
    places = [f"{item.instance_id} ({item.state})" for item in usage.attached.attachments]
    return ", ".join(places) or usage.attached.state


COMMAND = Command(
    "status",
    "show what holds each volume: claims, clients, instances, attachments",
    lambda _known: print(show()),
    acts=reads_only,
)
