"""The Nomad server: an agent on the gateway's address, tuned so that a small cluster reacts within seconds."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Final

from nomad_stateful.nomad.api import NomadError
from sandbox.cluster import tls
from sandbox.machine import processes
from sandbox.machine.ports import refuse_taken
from sandbox.machine.private_files import write_private
from sandbox.machine.waiting import until
from sandbox.settings import SandboxError, SandboxSettings

_READY_TIMEOUT_S: Final = 60.0


def pid_file(settings: SandboxSettings) -> Path:
    """Where the server's process is recorded."""
    return settings.run_dir / "nomad-server.pid"


def config(settings: SandboxSettings, gossip_key: str) -> dict[str, object]:
    """The agent's configuration, as JSON that Nomad reads like HCL; only who has the key may join its gossip."""
    address = str(settings.gateway)
    return {
        "name": "server",
        "data_dir": str(settings.nomad_dir / "server"),
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
            "bootstrap_expect": 1,
            "raft_multiplier": 1,
            # A client heartbeats every 3 to 6 s; one that is silent for 7 to 10 s is down, and its work moves.
            "min_heartbeat_ttl": "3s",
            "heartbeat_grace": "4s",
            # Claims of clients that died are released by this collection: by default only every 5 minutes.
            "csi_volume_claim_gc_interval": "5s",
            "csi_volume_claim_gc_threshold": "5s",
        },
        "client": {"enabled": False, "options": {"fingerprint.denylist": "env_aws,env_gce,env_azure,env_digitalocean"}},
    }


def start(settings: SandboxSettings, nomad: Path) -> bool:
    """Starts the server unless it runs, and waits until it leads; says whether it had to be started.

    Raises:
        SettingsError: one of its ports is taken.
        SandboxError: it does not come up; its last words are in the message.
    """
    started = not processes.is_alive(pid_file(settings))
    log = settings.log_dir / "nomad-server.log"
    if started:
        refuse_taken(settings, ("nomad_http", "nomad_rpc", "nomad_serf"))
        file = settings.nomad_dir / "server.json"
        write_private(file, json.dumps(config(settings, tls.gossip_key(settings)), indent=2) + "\n")
        argv = [str(nomad), "agent", f"-config={file}"]
        processes.start(
            argv,
            pid_file=pid_file(settings),
            log_file=log,
            env=processes.environment(os.environ),
            cwd=settings.home,
            umask=0o077,  # its state and the state's snapshots hold the tokens
        )
    _await_leader(settings, log)
    return started


def stop(settings: SandboxSettings) -> bool:
    """Stops the server; says whether it was running."""
    return processes.stop(pid_file(settings))


def _await_leader(settings: SandboxSettings, log: Path) -> None:
    api = tls.connect(settings)

    def look() -> bool:
        with contextlib.suppress(NomadError):
            if api.get("status/leader", timeout_s=2):
                return True
        if not processes.is_alive(pid_file(settings)):
            raise SandboxError(f"The Nomad server ended: {processes.last_words(log)}. Its log is {log}.")
        return False

    try:
        if not until(look, _READY_TIMEOUT_S, pause_s=0.1):
            raise SandboxError(f"The Nomad server has no leader after {_READY_TIMEOUT_S:.0f} s; its log is {log}.")
    finally:
        api.close()
