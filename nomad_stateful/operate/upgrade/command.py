"""The command `upgrade-driver`."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from typing import Any

from nomad_stateful.nomad.api import NomadApi, NomadError
from nomad_stateful.nomad.running_job import allocations, is_running
from nomad_stateful.operate import ownership, stack
from nomad_stateful.operate.engine import Change, Engine, EngineError, StackLockedError, other_changes
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.frame import Frame, add_change_options, duration_s, framed, interruptible
from nomad_stateful.operate.progress import say
from nomad_stateful.operate.upgrade.rollout import NodeFailedError, Rollout
from nomad_stateful.operate.upgrade.wanted import (
    PLUGINS,
    UpgradeRefusedError,
    Wanted,
    changed_job,
    refuse_others,
    wanted,
)
from nomad_stateful.waiting import Stopwatch


class RolledBackError(OperateError):
    """The new version did not start; the version before runs everywhere, and the settings are as they were."""

    exit_status = 5


def upgrade(frame: Frame, known: Namespace) -> None:
    """Plans, asks, and upgrades; rolls back by itself. Raises OperateError and ProviderError."""
    config = stack.config()
    asked = wanted(config.get(PLUGINS) or [], known.plugin, known.version, down=known.downgrade)
    with frame.cluster(operator=False) as nomad:
        roll = Rollout(nomad, asked.plugin_id, asked.node_job, stack.namespace(), known.node_timeout, say)
        _upgrade(frame, nomad, Engine(stack.chosen()), roll, asked)


def _upgrade(frame: Frame, nomad: NomadApi, engine: Engine, roll: Rollout, asked: Wanted) -> None:
    found = engine.changes(asked.settings)
    refuse_others(asked, found)
    job = changed_job(nomad, asked.node_job, found)
    there = filter(is_running, allocations(roll.api, roll.job_id, roll.namespace))
    clients = sorted(str(stub["NodeName"]) for stub in there)
    plan = {
        "plugin": asked.plugin_id,
        "from": asked.before,
        "to": asked.version,
        "clients": clients if job else [],
        "changes": [{"op": one.op, "type": one.type, "name": one.name} for one in found],
    }
    text = _text(asked, clients if job else [], [one.name for one in found])
    if not frame.agree(f"upgrade {asked.plugin_id} to {asked.version}?", text, plan, needed=bool(found)):
        return
    took = Stopwatch()
    with frame.turn(nomad, asked.version, engine) as refuse_lost:
        _refuse_changed(nomad, engine, asked, found)
        _change(engine, roll, asked, job, refuse_lost)
    result = plan | {"ok": True, "seconds": round(took.seconds, 1), "healthyAfter": roll.done}
    text = f"{asked.plugin_id} has {asked.version} on {len(clients)} clients after {result['seconds']} s"
    frame.tell(result, text)


def _refuse_changed(nomad: NomadApi, engine: Engine, asked: Wanted, found: Sequence[Change]) -> None:
    """Raises UpgradeRefusedError where an update would change something else than what was agreed to: look anew."""
    ownership.required(nomad)
    if others := other_changes(engine, asked.settings, found):
        raise UpgradeRefusedError(others)


def _change(
    engine: Engine, roll: Rollout, asked: Wanted, job: dict[str, Any] | None, refuse_lost: Callable[[], None]
) -> None:
    """Rolls the new version out, and back where it fails. Raises OperateError."""
    before = roll.before()
    try:
        with interruptible(lambda: f"run the same command to resume, or `{_revert(roll, before)}` to go back"):
            if job:
                _roll(roll, job)
            refuse_lost()
            _settle(engine, asked)
    except StackLockedError as error:
        raise OperateError(
            f"{error}. The node plugins and the settings have {asked.version}, the state has {asked.before} until then"
        ) from None
    except (NodeFailedError, EngineError) as error:
        say(f"FAILED: {error}")
        refuse_lost()
        _back(engine, roll, asked, before, str(error))


def _roll(roll: Rollout, job: dict[str, Any]) -> None:
    if lacks := roll.lacks():
        say(f"before: {'; '.join(lacks)}")
    roll.register(job)
    roll.run()


def _settle(engine: Engine, asked: Wanted) -> None:
    """Has settings and cluster agree: the node plugins are as the update would make them. Raises EngineError."""
    say(f"the settings get {', '.join(f'{path} = {value}' for path, value in asked.settings.items())}")
    engine.set(asked.settings)
    engine.up(f"{asked.plugin_id} gets {asked.version}", refresh=False)
    if left := engine.pending():
        raise EngineError(f"the next preview is not empty:\n{left}")


def _back(engine: Engine, roll: Rollout, asked: Wanted, before: dict[str, Any], why: str) -> None:
    """Restores the version and the settings from before. Raises RolledBackError, and OperateError where it cannot."""
    say(f"rolling back to {asked.before}")
    try:
        current = stack.fresh_config().get(PLUGINS) or []
        changed = str(current[asked.index].get("version")) == asked.version
        roll.roll_back(before)
        if changed:
            engine.set(asked.earlier)
            engine.up(f"{asked.plugin_id} gets {asked.before} back", refresh=False)
    except (NomadError, NodeFailedError, EngineError) as error:
        raise OperateError(
            f"{asked.version} failed ({why}), and so did the way back: {error}. Set {asked.before} in the settings of "
            f"plugin {asked.plugin_id}, `{_revert(roll, before)}`, `pulumi up`"
        ) from error
    raise RolledBackError(f"{asked.version} failed: {why}. {asked.before} runs everywhere again; nothing was lost")


def _text(asked: Wanted, clients: list[str], names: list[str]) -> str:
    lines = [f"{asked.plugin_id}: {asked.before} -> {asked.version}"]
    lines.append(f"  1. node plugins, one client after the other, when the one before is healthy: {', '.join(clients)}")
    lines.append(
        "     consumers run on, their volumes mounted; nothing is mounted or unmounted on that client meanwhile"
    )
    lines.append(f"  2. the settings, and an update of {', '.join(sorted(names)) or 'nothing'}")
    lines.append("  where one client fails, all get the version before")
    return "\n".join(lines)


def _revert(roll: Rollout, before: dict[str, Any]) -> str:
    return f"nomad job revert -namespace {roll.namespace} {roll.job_id} {before.get('Version')}"


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("version", metavar="VERSION", help="a release of the driver, such as v1.48.0")
    parser.add_argument("--plugin", default="", help="the plugin's id; by default the stack's only EBS plugin")
    parser.add_argument("--downgrade", action="store_true", help="allow an older version than the present one")
    parser.add_argument("--node-timeout", type=duration_s, default=180.0, metavar="TIME", help="for one client (3m)")
    add_change_options(parser)


COMMAND = framed(
    "upgrade-driver",
    "upgrade a CSI plugin's driver client by client; rolls back where one fails",
    upgrade,
    _arguments,
)
