"""Clocks: AWS refuses requests that are signed minutes off, and certificates begin and end by them."""

from collections.abc import Callable, Iterator
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import partial

from botocore.exceptions import BotoCoreError, ClientError

from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad.clients import Client
from nomad_stateful.operate import clocks
from nomad_stateful.operate.doctor.facts import Facts, NotChecked
from nomad_stateful.operate.doctor.finding import Finding, problem, warning

_PAGE = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/set-time.html"
_REFUSED_S = 300.0


def together(facts: Facts) -> Iterator[Finding]:
    """The clocks of AWS, the Nomad server, the clients and this machine agree."""
    reads: dict[str, Callable[[], datetime | None]] = {
        "AWS": lambda: _of_aws(facts),
        "the Nomad server": facts.nomad().clock,
    }
    reads |= {f"client {one.name}": partial(_of_client, facts, one) for one in facts.clients()}
    silent = []
    for name, read in reads.items():
        try:
            off_s = clocks.off_s(read)
        except (ProviderError, BotoCoreError, ClientError, NotChecked):
            off_s = None
        if off_s is None:
            silent.append(name)
        elif off_s > clocks.TOLERATED_S:
            kind = problem if off_s > _REFUSED_S else warning
            what = f"the clock of {name} is {off_s:.0f} s off this machine's"
            why = f"AWS refuses what is signed over {_REFUSED_S:.0f} s off; claims and logs cannot be put in order"
            yield kind(what, why, clocks.REMEDY, _PAGE)
    if silent:
        raise NotChecked(f"no time from {', '.join(silent)}")


def _of_aws(facts: Facts) -> datetime | None:
    # Not through the facts: the answer is wanted now.
    headers = facts.aws("sts").get_caller_identity()["ResponseMetadata"].get("HTTPHeaders") or {}
    return parsedate_to_datetime(headers["date"]) if headers.get("date") else None


def _of_client(facts: Facts, client: Client) -> datetime | None:
    api = facts.sources.client(client)
    try:
        return api.clock(timeout_s=3.0)
    finally:
        api.close()
