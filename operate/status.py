"""What holds what: each volume with its registration, claims, clients, instances and attachments, on one screen.

Below it what is wrong with them, and the dumps that fail.
"""

from collections.abc import Iterator, Sequence

from nomad_stateful.nomad.periodic_runs import FailingRun
from nomad_stateful.nomad.volume_claims import Claim
from nomad_stateful.recovery import volume_way_out
from nomad_stateful.recovery.volume_holders import Client, Holders
from operate import dumps
from operate.cluster import connect
from operate.columns import columns
from operate.holdings import Holding, all_holdings

_HEADER = ("VOLUME", "AT THE PROVIDER", "REGISTERED", "CLAIMED BY", "ON CLIENT", "INSTANCE", "ATTACHED TO")
_NONE = "-"


def show() -> str:
    """The table, with what is wrong below it."""
    nomad = connect()
    try:
        return text(all_holdings(nomad), dumps.failing(nomad))
    finally:
        nomad.close()


def text(holdings: Sequence[Holding], failing_dumps: Sequence[FailingRun] = ()) -> str:
    """Rows for a person, one for each claim of a volume."""
    rows = [_HEADER, *[row for holding in holdings for row in _rows(holding)]]
    problems = [
        f"\n{holding.name}: {way.problem}. `python -m operate recover {holding.name}` says what to do"
        for holding in holdings
        for way in volume_way_out.ways_out(holding.holders, wanted_free=False)
    ]
    return "\n".join([columns(rows), *problems, *(f"\n{dumps.text(run)}" for run in failing_dumps)])


def _rows(holding: Holding) -> Iterator[tuple[str, ...]]:
    holders = holding.holders
    volume = (holding.name, holders.external_id, holders.namespace if holding.registered else "no")
    if not holders.claims:
        yield (*volume, _NONE, _NONE, _NONE, _attachments(holders))
    for number, claim in enumerate(holders.claims):
        client = holders.client_of(claim)
        shown = volume if number == 0 else ("", "", "")
        attached = _attachments(holders) if number == 0 else ""
        yield (*shown, _claim(claim), _client(client), _instance(holders, client), attached)


def _claim(claim: Claim) -> str:
    return f"{claim.job_id or 'a purged job'} {claim.alloc_id[:8]} ({claim.status or 'forgotten'})"


def _client(client: Client | None) -> str:
    return f"{client.name or client.node_id[:8]} ({client.status})" if client else _NONE


def _instance(holders: Holders, client: Client | None) -> str:
    if client is None or not client.instance_id:
        return _NONE
    return f"{client.instance_id} ({holders.instance_state(client.instance_id)})"


def _attachments(holders: Holders) -> str:
    if holders.attached is None:
        return "EC2 does not say" if holders.trouble else _NONE
    places = [f"{item.instance_id} ({item.state})" for item in holders.attached.attachments]
    return ", ".join(places) or holders.attached.state
