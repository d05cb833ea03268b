"""Nomad's access control: bootstraps it once and makes the tokens of the program and of the operator."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import nomad_stateful
from nomad_stateful.nomad.api import NomadApi, NomadApiError, NomadError
from sandbox.cluster import tls
from sandbox.machine.private_files import read_text, write_private
from sandbox.settings import SandboxError, SandboxSettings, usage

_POLICIES: Final = {"program": "nomad-stateful", "operator": "nomad-stateful-operator"}
_DESCRIPTIONS: Final = {"program": "The Pulumi program", "operator": "People who operate the stack"}
_PACKAGE: Final = Path(nomad_stateful.__file__).parent
_RULES: Final = {
    "program": _PACKAGE / "program/nomad-policy.hcl",
    "operator": _PACKAGE / "operate/nomad-policy.hcl",
}
_FAILOVER: Final = _PACKAGE / "program/failover-policy.hcl"
_FAILOVER_JOB: Final = {"Namespace": "default", "JobID": "failover"}
_TIMEOUT_S: Final = 30.0
# Restore drills run in it; only a management token can make one.
_DRILLS: Final = {"Name": "drill", "Description": "Restore drills"}


@dataclass(frozen=True)
class Tokens:
    """The tokens of this sandbox."""

    management: str
    program: str
    operator: str


def token_file(settings: SandboxSettings, name: str) -> Path:
    """Where a token is kept: management, program or operator."""
    return settings.nomad_dir / f"{name}.token"


def read_tokens(settings: SandboxSettings) -> Tokens:
    """The tokens as far as they exist; empty ones do not."""
    return Tokens(*(read_text(token_file(settings, name)) for name in ("management", "program", "operator")))


def ensure(settings: SandboxSettings) -> tuple[Tokens, bool]:
    """Makes what is missing of tokens and policies; gives the tokens and whether anything was made.

    Raises:
        SandboxError: access control belongs to somebody else.
    """
    management = _management_token(settings)
    with closing(tls.connect(settings, management)) as api:
        bootstrapped = _bootstrap(settings, api, management)
        api.put("namespace/drill", _DRILLS)
        made = [_token(settings, api, name) for name in _POLICIES]
        made.append(
            _put_policy(
                api,
                "nomad-stateful-failover",
                "The failover watch",
                _FAILOVER.read_text(encoding="utf-8"),
                _FAILOVER_JOB,
            )
        )
    return read_tokens(settings), bootstrapped or any(made)


def _management_token(settings: SandboxSettings) -> str:
    # Chosen here and written before it is used: a kill in between does not lock us out.
    path = token_file(settings, "management")
    if not read_text(path):
        write_private(path, f"{uuid.uuid4()}\n")
    return read_text(path)


def _bootstrap(settings: SandboxSettings, api: NomadApi, secret: str) -> bool:
    deadline = time.monotonic() + _TIMEOUT_S
    while True:
        try:
            api.get("acl/token/self")
        except NomadApiError as error:
            if error.status not in (403, 404):
                raise
        else:
            return False
        try:
            api.put("acl/bootstrap", {"BootstrapSecret": secret})
        except NomadApiError as error:
            if "already done" in error.body:
                raise SandboxError(
                    f"Nomad at {settings.nomad_url} has access control set up by somebody else. "
                    f"Run `{usage.FORCE_DOWN}`, then `{usage.UP}`."
                ) from error
            # A server that has just become the leader refuses for a moment.
            if time.monotonic() > deadline:
                raise SandboxError(f"Nomad's access control cannot be set up: {error}") from error
            time.sleep(0.2)
        else:
            return True


def _token(settings: SandboxSettings, api: NomadApi, name: str) -> bool:
    policy = _POLICIES[name]
    rules = _RULES[name].read_text(encoding="utf-8")
    description = _DESCRIPTIONS[name]
    changed = _put_policy(api, policy, description, rules)
    path = token_file(settings, name)
    secret = read_text(path)
    if secret and _is_valid(settings, secret):
        return changed
    made = api.put("acl/token", {"Name": description, "Type": "client", "Policies": [policy]})
    write_private(path, f"{made['SecretID']}\n")
    return True


def _put_policy(api: NomadApi, name: str, description: str, rules: str, job: Mapping[str, str] | None = None) -> bool:
    """Puts a policy, bound to a job's identity where one is named; says whether it was another."""
    try:
        if api.get(f"acl/policy/{name}")["Rules"] == rules:
            return False
    except NomadApiError as error:
        if error.status != 404:
            raise
    api.put(f"acl/policy/{name}", {"Name": name, "Description": description, "Rules": rules, "JobACL": job})
    return True


def _is_valid(settings: SandboxSettings, secret: str) -> bool:
    with closing(tls.connect(settings, secret)) as api, suppress(NomadError):
        api.get("acl/token/self")
        return True
    return False
