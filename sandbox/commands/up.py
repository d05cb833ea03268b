"""`up`: from whatever is there to a running sandbox with the stack deployed. Safe to repeat, also after a kill."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from sandbox.cloud import service as cloud
from sandbox.cloud.credentials import aws_credentials
from sandbox.cluster import acl, client, nodes, server, tls
from sandbox.commands import leftovers, summary
from sandbox.commands.phases import Phases
from sandbox.docker import machine_daemon, store
from sandbox.docker.store import Store
from sandbox.machine import firewall, requirements, zone_delay
from sandbox.machine.lock import exclusive
from sandbox.machine.private_files import read_text
from sandbox.settings import PROJECT, SandboxSettings
from sandbox.stack import environment, plugin_home, project, stack_file, strays
from sandbox.stack.stack import Stack, config_file, prepare_backend, salt_file
from sandbox.standins.nas import openssh
from tools import packages, toolchain
from tools.toolchain import Toolchain, official

_CLIENTS_TIMEOUT_S: Final = 90.0


@dataclass(frozen=True)
class Options:
    """What `up` is asked for: the kind of plugins, the stack to deploy (empty: none), the folder of official parts."""

    plugins: str
    stack: str
    official: Path | None = None
    images: tuple[str, ...] = ()
    """Names of images to have beside those that every sandbox has."""


def run(settings: SandboxSettings, options: Options) -> int:
    """Brings everything up and prints where things are.

    Raises:
        SandboxError, ToolchainError, PackageError: it cannot be done; the message says why and what to do.
    """
    phases = Phases("up")
    requirements.require()
    if options.stack:
        project.require(config_file(options.stack), read_text(salt_file(settings, options.stack)))
    if options.official is not None:
        options = replace(options, official=official.require(options.official))
    with exclusive(settings.home):
        _clear_broken(settings, phases)
        tools, images = _tools(settings, options, phases)
        with ThreadPoolExecutor(max_workers=4) as pool:
            stack = pool.submit(_pulumi, settings, tools, options, phases)
            try:
                _cluster(settings, tools, images, phases, pool)
            finally:
                stack.exception()
            prepared = stack.result()
        changed_env = environment.write(settings, tools.bin_dir)
        if changed_env:
            phases.changes.append("env")
        if prepared is not None:
            _deploy(settings, prepared, phases)
    summary.show(settings, prepared, changed=bool(phases.changes), elapsed_s=phases.elapsed_s)
    return 0


def _clear_broken(settings: SandboxSettings, phases: Phases) -> None:
    if leftovers.is_broken(settings) or (cloud.is_alive(settings) and not leftovers.was_started(settings)):
        phases.say("an earlier sandbox died (its cloud is gone, and with it its volumes): clearing what it left")
        for sentence in leftovers.clear(settings, keep_logs=True):
            phases.say(f"  {sentence}")
    leftovers.mark_started(settings)


def _tools(settings: SandboxSettings, options: Options, phases: Phases) -> tuple[Toolchain, Store]:
    """Provides the toolchain and the images, each while the other is made."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        with phases.phase("tools") as phase:
            installed = packages.ensure_packages(packages.SANDBOX)
            with suppress(packages.PackageError):
                installed += packages.ensure_packages(packages.FIREWALL)
            openssh.ensure()
            # What the stand-ins' images are made of.
            toolchain.ensure_csi()
            named = (
                *options.images,
                *(stack_file.images(config_file(options.stack)) if options.stack else ()),
            )
            store.require_docker(settings, options.official, named)
            made = pool.submit(store.of_sandbox, settings, options.official, named)
            tools = toolchain.ensure()
            if installed:
                phase.did(f"installed {', '.join(installed)}; {tools.said()}")
            else:
                phase.kept(tools.said())
        with phases.phase("images") as phase:
            images = made.result()
            names = [f"{name.rpartition('/')[2]} ({note})" if note else name for name, note in images.names.items()]
            phase.kept(f"{machine_daemon.version()}; {', '.join(names)}")
    return tools, images


def _cluster(
    settings: SandboxSettings, tools: Toolchain, images: Store, phases: Phases, pool: ThreadPoolExecutor
) -> None:
    with phases.phase("cloud") as phase:
        started = cloud.start(settings)
        started = zone_delay.start(settings) or started
        nomad = pool.submit(_nomad, settings, tools, phases)
        cloud.await_api(settings)
        (phase.did if started else phase.kept)(f"EC2, IAM and STS at {settings.ec2_url}")
    if not firewall.is_installed(settings):
        phases.say(
            f"nft sets no rule on this machine (why: {settings.log_dir / 'ec2.log'}): other networks that it is in "
            f"reach {settings.subnet}, where keys, certificates and passwords alone are in the way"
        )
    # A client that finds no server yet tries again only after half a minute.
    nomad.result()
    _instances(settings, tools, images, phases)
    with phases.phase("clients") as phase:
        with closing(tls.connect(settings, acl.read_tokens(settings).management)) as api:
            ready = nodes.await_ready(api, settings, _CLIENTS_TIMEOUT_S)
        phase.kept(", ".join(f"{item.name} in {item.zone}" for item in ready))


def _instances(settings: SandboxSettings, tools: Toolchain, images: Store, phases: Phases) -> None:
    from sandbox.cloud.seed import seed

    keys = aws_credentials(settings)
    with phases.phase("instances") as phase:
        seeded = seed(
            settings,
            lambda spec, _address: client.user_data(settings, spec, tools.nomad, images),
            keys.access_key_id,
            keys.secret_access_key,
        )
        report = ", ".join(f"{item.name} ({item.instance_id}, {item.address})" for item in seeded.instances)
        (phase.did if seeded.changed else phase.kept)(report)


def _nomad(settings: SandboxSettings, tools: Toolchain, phases: Phases) -> None:
    with phases.phase("nomad") as phase:
        certified = tls.ensure(settings, tools.nomad)
        started = server.start(settings, tools.nomad)
        _, made = acl.ensure(settings)
        (phase.did if started or made or certified else phase.kept)(
            f"server at {settings.nomad_url}, {_access(settings)}"
        )


def _access(settings: SandboxSettings) -> str:
    return f"access control on, mutual TLS{'' if settings.tls else ' between its agents'}"


def _pulumi(settings: SandboxSettings, tools: Toolchain, options: Options, phases: Phases) -> Stack | None:
    with phases.phase("plugins") as phase:
        _, changed = plugin_home.ensure(settings, tools.pulumi, options.plugins, options.official)
        (phase.did if changed else phase.kept)(plugin_home.kinds(settings))
    prepare_backend(settings)
    if not options.stack:
        return None
    if project.ensure_environment(PROJECT):
        phases.say(f"{PROJECT / '.venv'} is linked to {sys.prefix}, which this command is of")
    stack = Stack(settings, tools, options.stack)
    stack.ensure()
    return stack


def _deploy(settings: SandboxSettings, stack: Stack, phases: Phases) -> None:
    cleared = strays.clear_interrupted(settings, stack)
    for sentence in cleared.said:
        phases.say(f"  {sentence}")
    with phases.phase("stack") as phase:
        # What was changed or lost behind Pulumi's back is part of what this command puts right.
        update = stack.up(refresh=bool(cleared.resources))
        done = ", ".join(f"{number} {name}" for name, number in sorted(update.operations.items()))
        (phase.did if update.changed else phase.kept)(f"{stack.name}: {done or 'nothing to do'}")
