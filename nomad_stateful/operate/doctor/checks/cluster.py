"""Nomad's servers: reachable, with a leader."""

from collections.abc import Iterator

from nomad_stateful.nomad.api import NomadError
from nomad_stateful.operate.doctor.facts import Facts, NotChecked
from nomad_stateful.operate.doctor.finding import Finding, problem, warning

_PAGE = "https://developer.hashicorp.com/nomad/docs/operations/autopilot"


def answers(facts: Facts) -> Iterator[Finding]:
    """Nomad answers at NOMAD_ADDR and has a leader."""
    try:
        api = facts.nomad()
    except NotChecked as error:
        what, why = (
            f"Nomad does not answer: {error}",
            "an `up` stops at once, and nothing below is known of the cluster",
        )
        yield problem(what, why, "set NOMAD_ADDR (with TLS also NOMAD_CACERT and the client's certificate)", _PAGE)
        return
    try:
        leader = api.get("status/leader")
    except NomadError as error:
        leader = ""
        told = str(error)
    else:
        told = ""
    if not leader:
        why = "nothing is placed, and no claim is released"
        cure = "`nomad operator raft list-peers`; where servers panic: docs/runbook.md"
        yield problem(
            f"the Nomad servers have no leader {told}".rstrip(), why, cure, "docs/runbook.md#nomads-servers-panic"
        )


def leans_on_several(facts: Facts) -> Iterator[Finding]:
    """Nomad's state is on three servers or more."""
    servers = facts.servers()
    if len(servers) == 1:
        why = "when it is lost, so are the registrations and claims of every volume; the volumes themselves stay"
        yield warning("there is one Nomad server", why, "run three; until then `nomad operator snapshot save`", _PAGE)
