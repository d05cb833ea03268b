"""The configuration of the Nomad clients, as their own agents tell it."""

from collections.abc import Iterator

from nomad_stateful.nomad.deadlines import seconds
from nomad_stateful.operate.doctor.facts import Facts, Json, NotChecked, listed
from nomad_stateful.operate.doctor.finding import Finding, warning

_CLIENT = "https://developer.hashicorp.com/nomad/docs/configuration/client"
_DEFAULT_MOST = "30s"
KILL_TIMEOUT = "30s"
"""The settings' default."""


def kill_timeouts(facts: Facts) -> Iterator[Finding]:
    """No client cuts the time that a consumer has to end (max_kill_timeout)."""
    wanted = _wanted(facts)
    if not wanted:
        return
    name, longest = max(wanted.items(), key=lambda one: seconds(one[1]))
    known, missing = _known(facts)
    short: dict[str, list[str]] = {}
    for client, config in known.items():
        most = str((config.get("Client") or {}).get("MaxKillTimeout") or _DEFAULT_MOST)
        if seconds(most) < seconds(longest):
            short.setdefault(most, []).append(client)
    for most, clients in short.items():
        what = f"{name}.killTimeout is {longest}, and max_kill_timeout of {listed(clients)} is {most}"
        why = "Nomad cuts it silently: the server is killed before it has written everything, and recovers longer"
        cure = f'client {{ max_kill_timeout = "{longest}" }} in their configuration, or lower {name}.killTimeout'
        yield warning(what, why, cure, f"{_CLIENT}#max_kill_timeout")
    _complain(missing)


def drain_on_shutdown(facts: Facts) -> Iterator[Finding]:
    """A client that is shut down drains itself first, so that its volumes are detached cleanly."""
    known, missing = _known(facts)
    without = sorted(client for client, config in known.items() if not _drains(config))
    if without:
        what = f"{listed(without)} does not drain when its instance shuts down"
        why = "a terminated or replaced instance leaves claims behind, and its consumers start elsewhere minutes later"
        cure = (
            "leave_on_terminate = true, leave_on_interrupt = true and client { drain_on_shutdown { "
            'deadline = "90s", ignore_system_jobs = true } } in their configuration: docs/clients.md'
        )
        yield warning(what, why, cure, f"{_CLIENT}#drain_on_shutdown-block")
    _complain(missing)


def _drains(config: Json) -> bool:
    leaves = config.get("LeaveOnTerm") or config.get("LeaveOnInt")
    return bool((config.get("Client") or {}).get("Drain") and leaves)


def _wanted(facts: Facts) -> dict[str, str]:
    found = {}
    if server := facts.database():
        kind, section = server
        found[kind.name] = str(section.get("killTimeout") or KILL_TIMEOUT)
    for consumer in facts.settings.get("consumers") or []:
        found[f"consumers.{consumer['name']}"] = str(consumer.get("killTimeout") or KILL_TIMEOUT)
    return found


def _known(facts: Facts) -> tuple[dict[str, Json], dict[str, str]]:
    """Returns the configuration by client, and why there is none."""
    agents = facts.agents()
    known = {name: config for name, config in agents.items() if not isinstance(config, str)}
    return known, {name: why for name, why in agents.items() if isinstance(why, str)}


def _complain(missing: dict[str, str]) -> None:
    if missing:
        name, why = next(iter(missing.items()))
        raise NotChecked(f"the agent of {listed(sorted(missing))} was not read from here ({name}: {why})")
