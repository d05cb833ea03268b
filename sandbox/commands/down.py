"""`down`: destroys the stack and removes the sandbox. Safe to repeat, after a kill and over a crash."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nomad_stateful.nomad.api import NomadError
from sandbox.cloud import service as cloud
from sandbox.cluster import acl, server, tls
from sandbox.commands import leftovers
from sandbox.commands.phases import Phases
from sandbox.machine.lock import exclusive
from sandbox.machine.private_files import read_text
from sandbox.settings import PROJECT, SandboxError, SandboxSettings, usage
from sandbox.stack import strays
from sandbox.stack.stack import Stack, config_file, salt_file, stacks_in_state
from sandbox.stack.stack_file import has_foreign_secrets, project_name, put_salt
from tools import toolchain


@dataclass(frozen=True)
class Options:
    """What `down` is asked for: the stack; to drop it without a destroy; to leave the sandbox running."""

    stack: str
    force: bool = False
    keep_sandbox: bool = False


def run(settings: SandboxSettings, options: Options) -> int:
    """Takes everything down and says what it found; 0 also when there was nothing.

    Raises:
        SandboxError: the stack cannot be destroyed (then the sandbox is left running), or something cannot be removed.
    """
    phases, own = Phases("down"), project_name(PROJECT)
    if not settings.home.is_dir():
        _forget_salt(options.stack)
        phases.say("nothing is running")
        return 0
    with exclusive(settings.home):
        known = stacks_in_state(settings)
        others = [f"{project}/{name}" for project, name in known if name != options.stack]
        if options.force:
            phases.say("--force: the stack is not destroyed, it goes with the sandbox")
        elif cloud.is_alive(settings):
            _destroy(settings, options, phases)
            _look(settings, phases)
            if options.keep_sandbox:
                phases.say("the sandbox runs on")
                return 0
        elif leftovers.was_started(settings):
            phases.say("the sandbox has died, and its volumes with it: there is nothing to destroy, only to clear")
        if others:
            phases.say(f"these stacks go with the sandbox's state: {', '.join(others)}")
        gone = {name for project, name in known if project == own} | {options.stack}
        salts = {name: read_text(salt_file(settings, name)) for name in gone}
        with phases.phase("sandbox") as phase:
            said = leftovers.clear(settings, keep_logs=False)
            phase.did("; ".join(said) or "nothing was running")
        for name, salt in salts.items():
            _forget_salt(name, salt)
    phases.say("everything is gone")
    return 0


def _forget_salt(stack: str, salt: str = "") -> None:
    """Takes the salt out of the stack's file: it belonged to the state that is gone. Not another stack's."""
    path = config_file(stack)
    if path.is_file() and not has_foreign_secrets(path, salt):
        put_salt(path, "")


def _destroy(settings: SandboxSettings, options: Options, phases: Phases) -> None:
    tools = toolchain.find()
    if tools is None:
        if stacks_in_state(settings):
            raise SandboxError(
                f"The toolchain is gone from the cache, so the stack cannot be destroyed. Run `{usage.UP}` to get it "
                f"back, or drop the sandbox with everything in it: `{usage.FORCE_DOWN}`."
            )
        return
    name = options.stack
    stack = Stack(settings, tools, name)
    if not options.keep_sandbox:
        _refuse_others(stack)
    if not stack.exists():
        phases.say(f"there is no stack {name}")
        return
    if not server.is_alive(settings):
        phases.say("a Nomad server had died: starting it again, to destroy what runs on it")
        server.start(settings, tools.nomad)
    with phases.phase("stack") as phase:
        stack.ensure()
        cleared = strays.clear_interrupted(settings, stack)
        for sentence in cleared.said:
            phases.say(f"  {sentence}")
        stack.destroy(refresh=cleared.was_cut_off)
        phase.did(f"{name} is destroyed")


def _refuse_others(stack: Stack) -> None:
    """Nothing is destroyed that was not asked for: other stacks may belong to programs that are not here."""
    others = stack.others()
    if not others:
        return
    listed = ", ".join(f"{name} ({count} resources)" for name, count in sorted(others.items()))
    raise SandboxError(
        f"The sandbox holds more stacks, which would go with it: {listed}. Nothing was destroyed. Destroy each in the "
        "folder of its program (`. .sandbox/env`, then `pulumi destroy --stack NAME`) and run "
        f"`{usage.DOWN}` again, or drop the sandbox with everything in it: `{usage.FORCE_DOWN}`."
    )


def _look(settings: SandboxSettings, phases: Phases) -> None:
    """Says what the account and the cluster still hold: after a destroy it should be nothing of the stack."""
    with phases.phase("check") as phase:
        left = [*_in_cloud(settings), *_in_nomad(settings)]
        if left:
            phase.did(f"no stack knows these, they go with the sandbox: {', '.join(left)}")
        else:
            phase.kept("no volume, snapshot, policy, job, registration or variable is left")


def _in_cloud(settings: SandboxSettings) -> list[str]:
    from sandbox.cloud.inventory import account_contents

    return account_contents(settings)


def _in_nomad(settings: SandboxSettings) -> list[str]:
    api = tls.connect(settings, acl.read_tokens(settings).management)
    left: list[str] = []
    try:
        jobs: list[dict[str, Any]] = api.get("jobs", namespace="*")
        left += [f"job {job['ID']}" for job in jobs if job["Status"] != "dead"]
        left += [f"registration {item['ID']}" for item in api.get("volumes", type="csi", namespace="*")]
        left += [f"variable {item['Path']}" for item in api.get("vars", namespace="*")]
    except NomadError as error:
        left.append(f"whatever is in Nomad, which does not answer ({error})")
    finally:
        api.close()
    return left
