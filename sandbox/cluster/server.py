"""The Nomad servers, tuned so that a small cluster reacts within seconds: one on the gateway, or one a zone."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Final

from nomad_stateful.nomad.api import NomadError
from sandbox.cluster import balancer, tls
from sandbox.machine import processes, server_network
from sandbox.machine.ports import refuse_taken
from sandbox.machine.private_files import write_private
from sandbox.machine.waiting import until
from sandbox.settings import SandboxError, SandboxSettings, ServerSpec, SettingsError, usage

_READY_TIMEOUT_S: Final = 60.0


# A server that is cut off sends no end of its connections: by default Nomad takes 40 s to miss it.
KEEP_ALIVE: Final = {"keep_alive_interval": "1s", "connection_write_timeout": "2s"}
"""Settings of the agents' connections, where there are several servers."""


def pid_file(settings: SandboxSettings, server: ServerSpec) -> Path:
    """Where a server's process is recorded."""
    return settings.run_dir / f"nomad-{server.name}.pid"


def is_alive(settings: SandboxSettings) -> bool:
    """Whether every server runs, and what leads to them."""
    servers = all(processes.is_alive(pid_file(settings, one)) for one in settings.nomad_servers)
    return servers and balancer.is_alive(settings)


def leader(settings: SandboxSettings) -> ServerSpec:
    """Returns the server that leads.

    Raises:
        NomadError: there is none.
    """
    if settings.servers == 1:
        return settings.nomad_servers[0]
    with contextlib.closing(tls.connect(settings)) as api:
        address = str(api.get("status/leader")).rpartition(":")[0]
    return next(one for one in settings.nomad_servers if str(one.address) == address)


def config(settings: SandboxSettings, gossip_key: str, server: ServerSpec) -> dict[str, object]:
    """The agent's configuration, as JSON that Nomad reads like HCL; only who has the key may join its gossip."""
    address = str(server.address)
    others = [f"{one.address}:{settings.nomad_serf_port}" for one in settings.nomad_servers if one != server]
    return {
        **({"rpc": KEEP_ALIVE} if others else {}),
        "name": server.name,
        "data_dir": str(settings.nomad_dir / server.name),
        "bind_addr": address,
        "advertise": {"http": address, "rpc": address, "serf": address},
        "ports": {
            "http": settings.nomad_http_port,
            "rpc": settings.nomad_rpc_port,
            "serf": settings.nomad_serf_port,
        },
        "log_level": "INFO",
        "disable_update_check": True,
        # What Prometheus asks /v1/metrics for; docs/metrics.md has the same for a real cluster.
        "telemetry": {
            "prometheus_metrics": True,
            "publish_allocation_metrics": True,
            "publish_node_metrics": True,
            "disable_hostname": True,
        },
        "acl": {"enabled": True},
        "tls": tls.agent_block(settings, "server"),
        "consul": {"auto_advertise": False, "server_auto_join": False, "client_auto_join": False},
        "server": {
            "enabled": True,
            "encrypt": gossip_key,
            "bootstrap_expect": settings.servers,
            # A client heartbeats every 3 to 6 s; one that is silent for 7 to 10 s is down, and its work moves.
            "min_heartbeat_ttl": "3s",
            **(_together(others) if others else {"raft_multiplier": 1, "heartbeat_grace": "4s"}),
            # Claims of clients that died are released by this collection: by default only every 5 minutes.
            "csi_volume_claim_gc_interval": "5s",
            "csi_volume_claim_gc_threshold": "5s",
        },
        "client": {"enabled": False, "options": {"fingerprint.denylist": "env_aws,env_gce,env_azure,env_digitalocean"}},
    }


def _together(others: list[str]) -> dict[str, object]:
    return {
        "server_join": {"retry_join": others, "retry_interval": "1s"},
        # They share the cores of one machine: a leader that is slow is to stay one.
        "raft_multiplier": 3,
        # A client has to miss its server (KEEP_ALIVE) and find another one.
        "heartbeat_grace": "10s",
        # How long a new leader waits for clients that it has not heard of: by default 5 minutes. One that was told
        # that nobody leads asks again after 15 to 30 s.
        "failover_heartbeat_ttl": "45s",
    }


def start(settings: SandboxSettings, nomad: Path) -> bool:
    """Starts the servers that do not run, and waits until each knows a leader; says whether one had to be started.

    Raises:
        SettingsError: a port of theirs is taken.
        SandboxError: one does not come up, its last words are in the message; or the sandbox has another number.
    """
    _refuse_another_number(settings)
    started = [_start(settings, nomad, one) for one in settings.nomad_servers]
    if settings.servers > 1:
        started.append(balancer.start(settings))
    for one in settings.nomad_servers:
        _await_leader(settings, one)
    return any(started)


def stop(settings: SandboxSettings) -> bool:
    """Stops the servers; says whether one was running."""
    balancer.stop(settings)
    stopped = [processes.stop(file) for file in settings.run_dir.glob("nomad-server*.pid")]
    for zone in settings.zones:
        server_network.remove(settings, zone)
    return any(stopped)


def _refuse_another_number(settings: SandboxSettings) -> None:
    names = {f"{one.name}.json" for one in settings.nomad_servers}
    began = {path.name for path in settings.nomad_dir.glob("server*.json")}
    if began and began != names:
        rule = f"the sandbox was started with {len(began)}"
        raise SettingsError("servers", settings.servers, rule, f"Run `{usage.DOWN}`, then `{usage.UP}`.")


def _start(settings: SandboxSettings, nomad: Path, server: ServerSpec) -> bool:
    file = pid_file(settings, server)
    if processes.is_alive(file):
        return False
    enter: list[str] = []
    if server.zone is None:
        refuse_taken(settings, ("nomad_http", "nomad_rpc", "nomad_serf"))
    else:
        server_network.ensure(settings, server.zone, server.address)
        enter = ["nsenter", f"--net={server_network.namespace(settings, server.zone)}"]
    configuration = settings.nomad_dir / f"{server.name}.json"
    write_private(configuration, json.dumps(config(settings, tls.gossip_key(settings), server), indent=2) + "\n")
    processes.start(
        [*enter, str(nomad), "agent", f"-config={configuration}"],
        pid_file=file,
        log_file=_log(settings, server),
        env=processes.environment(os.environ),
        cwd=settings.home,
        umask=0o077,  # its state and the state's snapshots hold the tokens
    )
    return True


def _log(settings: SandboxSettings, server: ServerSpec) -> Path:
    return settings.log_dir / f"nomad-{server.name}.log"


def _await_leader(settings: SandboxSettings, server: ServerSpec) -> None:
    log = _log(settings, server)

    def look() -> bool:
        with contextlib.suppress(NomadError):
            if api.get("status/leader", timeout_s=2):
                return True
        if not processes.is_alive(pid_file(settings, server)):
            raise SandboxError(f"The Nomad {server.name} ended: {processes.last_words(log)}. Its log is {log}.")
        return False

    with contextlib.closing(tls.connect(settings, server=server)) as api:
        if not until(look, _READY_TIMEOUT_S, pause_s=0.1):
            raise SandboxError(
                f"The Nomad {server.name} has no leader after {_READY_TIMEOUT_S:.0f} s; its log is {log}."
            )
