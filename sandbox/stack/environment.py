"""What a shell needs to work with the sandbox by hand: the file `.sandbox/env`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from sandbox.cloud.credentials import aws_credentials
from sandbox.cluster import acl, tls
from sandbox.machine.private_files import write_private
from sandbox.settings import CONFIG_VARIABLE, HOME_VARIABLE, PROJECT, SandboxSettings

UNSET: Final = (
    "AWS_CA_BUNDLE",
    "AWS_DEFAULT_PROFILE",
    "AWS_PROFILE",
    "AWS_ROLE_ARN",
    "AWS_SECURITY_TOKEN",
    "AWS_SESSION_TOKEN",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "NOMAD_CACERT",
    "NOMAD_CAPATH",
    "NOMAD_CLIENT_CERT",
    "NOMAD_CLIENT_KEY",
    "NOMAD_HTTP_AUTH",
    "NOMAD_NAMESPACE",
    "NOMAD_REGION",
    "NOMAD_SKIP_VERIFY",
    "NOMAD_TLS_SERVER_NAME",
    "PULUMI_ACCESS_TOKEN",
    "PULUMI_CONFIG_PASSPHRASE",
    "PULUMI_STACK",
    # Compiling everything again at each start would take longer than a preview does.
    "PYTHONDONTWRITEBYTECODE",
)
"""Variables of the caller's shell that would lead out of the sandbox, break it, or make it slow."""

_PROXY_EXCEPTIONS: Final = ("NO_PROXY", "no_proxy")


def pulumi_home(settings: SandboxSettings) -> Path:
    """Pulumi's home: plugins and the selected stack."""
    return settings.home / "pulumi-home"


def state_dir(settings: SandboxSettings) -> Path:
    """Pulumi's state: a folder as its backend."""
    return settings.home / "pulumi"


def passphrase_file(settings: SandboxSettings) -> Path:
    """The file with the passphrase of Pulumi's state."""
    return settings.home / "pulumi-passphrase"


def exports(settings: SandboxSettings) -> dict[str, str]:
    """Variables that lead the program, Nomad's CLI, Pulumi's CLI and AWS's SDKs to this sandbox."""
    aws = aws_credentials(settings)
    tokens = acl.read_tokens(settings)
    named = {name: os.environ[name] for name in (CONFIG_VARIABLE,) if name in os.environ}
    return {
        **named,
        HOME_VARIABLE: str(settings.home),
        "NOMAD_ADDR": settings.nomad_url,
        "NOMAD_TOKEN": tokens.program,
        "NOMAD_OPERATOR_TOKEN": tokens.operator,
        **tls.variables(settings),
        "AWS_ENDPOINT_URL": settings.ec2_url,
        "AWS_ACCESS_KEY_ID": aws.access_key_id,
        "AWS_SECRET_ACCESS_KEY": aws.secret_access_key,
        "AWS_REGION": settings.region,
        "AWS_DEFAULT_REGION": settings.region,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        "PULUMI_HOME": str(pulumi_home(settings)),
        # A sidecar that pulumi was killed over is empty, and no command reads the state beside it again.
        "PULUMI_BACKEND_URL": f"file://{state_dir(settings)}?metadata=skip",
        "PULUMI_CONFIG_PASSPHRASE_FILE": str(passphrase_file(settings)),
        "PULUMI_SKIP_UPDATE_CHECK": "1",
        # The engine writes its whole state at each step; a fifth of its processor time is Go's garbage collector.
        "GOGC": "400",
    }


def search_path(bin_dir: Path) -> list[Path]:
    """Folders that come first on PATH: the toolchain's and the project's virtual environment's."""
    return [bin_dir, PROJECT / ".venv/bin"]


def process_environment(
    settings: SandboxSettings, bin_dir: Path, outer: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """The same as the file, for a process that we start ourselves."""
    env = {name: value for name, value in outer.items() if name not in UNSET}
    env.update(exports(settings))
    env["PATH"] = os.pathsep.join([*map(str, search_path(bin_dir)), env.get("PATH", os.defpath)])
    for name in _PROXY_EXCEPTIONS:
        env[name] = ",".join(filter(None, [env.get(name, ""), str(settings.gateway), str(settings.subnet)]))
    return env


def render(settings: SandboxSettings, bin_dir: Path) -> str:
    """The file's text: POSIX shell, to be sourced."""
    lines = [
        "# Leads pulumi, nomad and AWS's tools to this sandbox. Source it: it holds credentials of the sandbox alone.",
        f"unset {' '.join(UNSET)}",
    ]
    lines += [f"export {name}={shlex.quote(value)}" for name, value in exports(settings).items()]
    front = shlex.quote(":".join(map(str, search_path(bin_dir))))
    # Sourced twice, it does not grow PATH twice.
    lines.append(f'case ":$PATH:" in *:{front}:*) ;; *) PATH={front}:"$PATH"; export PATH ;; esac')
    inside = shlex.quote(f"{settings.gateway},{settings.subnet}")
    lines += [
        f'case ",${{{name}:-}}," in *,{inside},*) ;; *) export {name}="${{{name}:+${name},}}"{inside} ;; esac'
        for name in _PROXY_EXCEPTIONS
    ]
    return "\n".join(lines) + "\n"


def write(settings: SandboxSettings, bin_dir: Path) -> bool:
    """Writes `.sandbox/env`; says whether it changed."""
    text = render(settings, bin_dir)
    if settings.env_file.is_file() and settings.env_file.read_text(encoding="utf-8") == text:
        return False
    write_private(settings.env_file, text)
    return True
