"""How far another machine's clock is off this one's."""

from collections.abc import Callable
from datetime import UTC, datetime

from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.operate.progress import say

TOLERATED_S = 5.0
REMEDY = "chronyc makestep (on AWS from 169.254.169.123)"


def off_s(read: Callable[[], datetime | None]) -> float | None:
    """Returns by how many seconds the clock that is read is off at least; None where it does not tell."""
    before = datetime.now(UTC)
    told = read()
    if told is None:
        return None
    # The answer's time has whole seconds, and was made at some moment between the two.
    after = datetime.now(UTC)
    return max((before - told).total_seconds() - 1, (told - after).total_seconds(), 0.0)


def warn(nomad: NomadApi) -> None:
    """Says where this machine's clock is off the Nomad server's: ages and losses are told by it."""
    try:
        apart_s = off_s(nomad.clock)
    except ProviderError:
        return
    if apart_s is not None and apart_s > TOLERATED_S:
        say(
            f"warning: the clock of the Nomad server is {apart_s:.0f} s off this machine's, by which ages and lost "
            f"minutes are told: {REMEDY}"
        )
