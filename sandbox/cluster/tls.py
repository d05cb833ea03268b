"""What the cluster knows its own by: CA and certificates, the key of its gossip, and the ways to connect with them."""

from __future__ import annotations

import base64
import secrets
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.tls import TlsSettings
from sandbox.machine.private_files import create_private, read_text
from sandbox.settings import SandboxError, SandboxSettings, ServerSpec, usage

VALID_DAYS: Final = 365
"""How long the CA and its certificates are valid; a sandbox is not expected to get that old."""

RENEWAL: Final = timedelta(days=1)
"""How long before their end they are no longer started with."""

_CA: Final = "nomad-agent-ca.pem"
_AGENTS: Final = ("server", "client")
_ROLES: Final = (*_AGENTS, "cli")


def ensure(settings: SandboxSettings, nomad: Path) -> bool:
    """Makes the CA and a certificate for the server, the clients and, with `tls`, the people; says whether it had to.

    Raises:
        SandboxError: the sandbox was started without them, or its certificates are at their end.
    """
    folder = settings.nomad_tls_dir
    roles = _ROLES if settings.tls else _AGENTS
    if all(_certificate(settings, role).is_file() for role in roles):
        _refuse_ended(folder / _CA)
        return False
    if any((settings.nomad_dir / server.name).exists() for server in settings.nomad_servers):
        began = "tls is true, but the sandbox was started without it"
        if not _certificate(settings, "server").is_file():
            began = "The sandbox was started by a version without TLS between Nomad's agents"
        raise SandboxError(f"{began}. Run `{usage.DOWN}`, then `{usage.UP}`.")
    for path in (settings.nomad_dir, folder):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not (folder / _CA).is_file():
        _nomad_tls(nomad, folder, "ca", "create")
    addresses = {
        # The gateway's is what leads to several servers.
        "server": sorted({settings.gateway, *(server.address for server in settings.nomad_servers)}),
        "client": [settings.instance_address(spec) for spec in settings.instances],
        "cli": [],
    }
    for role in roles:
        # What an interrupted run has left half made is not written over.
        for path in (_certificate(settings, role), _key(settings, role)):
            path.unlink(missing_ok=True)
        also = [f"-additional-ipaddress={address}" for address in addresses[role]]
        _nomad_tls(nomad, folder, "cert", "create", f"-{role}", *also)
    return True


def gossip_key(settings: SandboxSettings) -> str:
    """The key that servers of this cluster know each other by; made the first time."""
    path = settings.nomad_dir / "gossip.key"
    if not read_text(path):
        create_private(path, base64.b64encode(secrets.token_bytes(32)).decode() + "\n")
    return read_text(path)


def agent_block(settings: SandboxSettings, role: str) -> dict[str, Any]:
    """The `tls` block of an agent's configuration: always among themselves, by the option `tls` over HTTP too."""
    return {
        "http": settings.tls,
        "rpc": True,
        "ca_file": str(settings.nomad_tls_dir / _CA),
        "cert_file": str(_certificate(settings, role)),
        "key_file": str(_key(settings, role)),
        "verify_server_hostname": True,
        "verify_https_client": settings.tls,
    }


def variables(settings: SandboxSettings) -> dict[str, str]:
    """What Nomad's CLI, Pulumi's plugins and our own commands read from the environment."""
    if not settings.tls:
        return {}
    return {
        "NOMAD_CACERT": str(settings.nomad_tls_dir / _CA),
        "NOMAD_CLIENT_CERT": str(_certificate(settings, "cli")),
        "NOMAD_CLIENT_KEY": str(_key(settings, "cli")),
    }


def connect(settings: SandboxSettings, token: str = "", server: ServerSpec | None = None) -> NomadApi:
    """The API of this sandbox's cluster, or of one of its servers."""
    url = settings.nomad_url_at(server.address) if server else settings.nomad_url
    return NomadApi(url, token, tls=TlsSettings.of({}, variables(settings)))


def _certificate(settings: SandboxSettings, role: str) -> Path:
    return settings.nomad_tls_dir / f"global-{role}-nomad.pem"


def _key(settings: SandboxSettings, role: str) -> Path:
    return settings.nomad_tls_dir / f"global-{role}-nomad-key.pem"


def _refuse_ended(ca: Path) -> None:
    from cryptography import x509

    ends = x509.load_pem_x509_certificate(ca.read_bytes()).not_valid_after_utc
    if ends - datetime.now(UTC) < RENEWAL:
        raise SandboxError(
            f"The certificates of this sandbox end at {ends:%Y-%m-%d %H:%M} UTC: they are valid for {VALID_DAYS} days. "
            f"Run `{usage.FORCE_DOWN}`, then `{usage.UP}`."
        )


def _nomad_tls(nomad: Path, folder: Path, *words: str) -> None:
    command = [str(nomad), "tls", *words, f"-days={VALID_DAYS}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, umask=0o077)
    if done.returncode != 0:
        raise SandboxError(f"`{' '.join(command)}` failed: {done.stderr.strip() or done.stdout.strip()}")
