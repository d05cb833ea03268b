"""The Pulumi stack that a command works on: which one it is, and its outputs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from nomad_stateful.databases.catalogue import DATABASES
from nomad_stateful.databases.model import Database
from nomad_stateful.ebs import aws_session
from nomad_stateful.ebs.ec2_client import AwsPlace
from nomad_stateful.nomad.api import CONFIG_ARGUMENTS
from nomad_stateful.operate import project
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.resource_types import NOMAD_CSI_REGISTRATION, NOMAD_CSI_VOLUME, VOLUME_GUARD

_PULUMI = "`command -v pulumi` says which program that is. Put Pulumi's own first on PATH"
REGISTRATIONS = frozenset({NOMAD_CSI_REGISTRATION, NOMAD_CSI_VOLUME})


class StackError(OperateError):
    """The stack cannot be read, lacks what the command needs, or is not named where there are several."""


@dataclass(frozen=True)
class Member:
    """A server of a replication group."""

    job: str
    zone: str
    volume: str


@dataclass(frozen=True)
class DatabaseOutputs:
    """The stack's outputs about its database server."""

    kind: Database
    job: str
    """The server's; of a group the routers'."""
    namespace: str
    zone: str
    volume: str
    """The server's; of a group the first member's."""
    user: str
    password: str
    tls: str
    ca: str
    """CA certificate to verify the server with, in PEM; empty where the server made its own certificate."""
    backup: Mapping[str, Any] | None = None
    """Its dumps: job, restoreJob and s3; None where it has none."""
    point_in_time: Mapping[str, Any] | None = None
    """Where its logs are copied to: bucket, prefix and region; None where they are not."""
    members: tuple[Member, ...] = ()
    """Those of its replication group; none of a single server."""
    service: str = ""
    """By which clients find it."""
    max_lag_s: float | None = None
    """How far behind a member of its group may be that answers reads; None where the stack does not say."""

    @property
    def servers(self) -> tuple[Member, ...]:
        """The members, or the single server."""
        return self.members or (Member(self.job, self.zone, self.volume),)

    @classmethod
    def of(cls, known: Mapping[str, Any]) -> DatabaseOutputs | None:
        """Returns what a stack's outputs say of its server, None where it has none."""
        kind = next((one for one in DATABASES.values() if known.get(one.output())), None)
        if kind is None:
            return None
        server = known[kind.output()]
        group = server.get("group") or {}
        members = tuple(Member(**one) for one in group.get("members") or ())
        return cls(
            kind,
            **{name: str(server.get(name) or "") for name in ("job", "namespace", "zone", "user")},
            volume=members[0].volume if members else str(server.get("volume") or ""),
            password=str(known.get(kind.output("Password")) or ""),
            tls=str(server.get("tls") or "preferred"),
            ca=str(server.get("ca") or ""),
            backup=known.get(kind.output("Backup")),
            point_in_time=known.get(kind.output("PointInTime")),
            members=members,
            service=str(group.get("service") or server.get("job") or ""),
            max_lag_s=group.get("maxLagS"),
        )


class _Chosen:
    """The stack of this process; until one is chosen, the one that Pulumi has selected."""

    name = ""


def choose(named: str, command: str, *, acts: bool) -> str:
    """Chooses the stack and prints it on standard error: the named one, else the only one.

    Of several, read-only commands take the selected one; others need a name. Raises OperateError.
    """
    if where := project.elsewhere():
        print(f"project {where}", file=sys.stderr)
    _Chosen.name = named or os.environ.get("PULUMI_STACK", "") or _from_backend(command, acts=acts)
    print(f"stack {_Chosen.name}", file=sys.stderr)
    return _Chosen.name


def chosen() -> str:
    """Returns the chosen stack's name."""
    return _Chosen.name


def tag() -> str:
    """Returns PROJECT/STACK, by which the program knows its volumes. Raises OperateError."""
    return f"{project.name()}/{chosen().rpartition('/')[2]}"


def _from_backend(command: str, *, acts: bool) -> str:
    listed = _run("stack", "ls", "--json")
    names = sorted(str(one["name"]) for one in listed)
    selected = next((str(one["name"]) for one in listed if one.get("current")), "")
    if not names:
        raise StackError("the project has no stack here: run `make up`, or `pulumi stack init` and `pulumi up`")
    if len(names) == 1 or (selected and not acts):
        return selected or names[0]
    raise StackError(
        f"--stack is not set: there are the stacks {', '.join(names)} (selected: {selected or 'none'}), and "
        f"`{command}` needs a name. Add --stack {selected or names[0]}, or set PULUMI_STACK"
    )


@cache
def outputs() -> dict[str, Any]:
    """Returns the stack's outputs, with secrets in plain text. Raises StackError."""
    return _json("stack", "output", "--json", "--show-secrets")


@cache
def aws_place() -> AwsPlace:
    """Returns the account and region of the stack's resources, by their ARNs, and the aws provider's configuration.

    Raises StackError.
    """
    found = {tuple(arn.split(":")[3:5]) for arn in _arns(resources())}
    accounts, regions = (
        {account for _, account in found if account.isdigit()},
        {region for region, _ in found if region},
    )
    of_aws = {key.removeprefix("aws:"): value for key, value in config().items() if key.startswith("aws:")}
    return AwsPlace(
        region=regions.pop() if len(regions) == 1 else str(of_aws.get("region") or ""),
        # With several accounts it stays empty, and then "not found" is never taken for deleted.
        account_id=accounts.pop() if len(accounts) == 1 else "",
        config=aws_session.chosen(of_aws),
    )


def config() -> dict[str, Any]:
    """Returns the stack's configuration by whole keys (aws:region), with secrets in plain text. Raises StackError."""
    return whole_keys(_json("config", "--json", "--show-secrets"))


def whole_keys(shown: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Returns a configuration by whole keys, of what `pulumi config --json` prints."""
    return {key: value.get("objectValue", value.get("value")) for key, value in shown.items()}


def namespace() -> str:
    """Returns the Nomad namespace of the stack's jobs and volumes. Raises StackError."""
    return namespace_of(config().get("nomad-stateful:placement"))


def namespace_of(placement: Any) -> str:
    """Returns the Nomad namespace that the setting has. Raises StackError where it is no map."""
    if placement and not isinstance(placement, Mapping):
        raise StackError(
            "nomad-stateful:placement is not a map: the namespace is one of its keys. Write for example "
            "`nomad-stateful:placement: { namespace: databases }`"
        )
    return str((placement or {}).get("namespace") or "default")


def fresh_config() -> dict[str, Any]:
    """Returns the configuration as it is now, where this process has changed it. Raises StackError."""
    _json.cache_clear()
    return config()


def resources() -> list[dict[str, Any]]:
    """Returns the resources in the stack's state, none before its first `up`. Raises StackError."""
    return list(deployment().get("resources") or [])


def nomad_config(given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Returns the cluster that a configuration names, the stack's if none is given, as NomadApi.from_env takes it.

    It is what its resources use: of the nomad-csi provider, else of the nomad provider. Raises StackError.
    """
    known = config() if given is None else given
    found = {name: known.get(f"nomad-csi:{key}", known.get(f"nomad:{key}")) for key, name in CONFIG_ARGUMENTS.items()}
    return {name: value for name, value in found.items() if value not in (None, "")}


def deployment() -> dict[str, Any]:
    """Returns the stack's state. Raises StackError."""
    return state_of(_json("stack", "export"))


def state_of(exported: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the state, of what `pulumi stack export` prints: its resources and pending operations."""
    return dict(exported.get("deployment") or {})


def registrations(state: Mapping[str, Any]) -> dict[str, str]:
    """Returns the ids at the provider of the volumes that Nomad has by a state, by their ids in Nomad.

    Without those that an update which was cut off may have removed or made.
    """
    unsettled = {one["resource"]["urn"] for one in state.get("pending_operations") or []}
    known = [one for one in state.get("resources") or [] if one["type"] in REGISTRATIONS]
    found = [one.get("outputs") or {} for one in known if one.get("urn") not in unsettled and not one.get("delete")]
    return {str(one["volumeId"]): str(one["externalId"]) for one in found if one.get("externalId")}


def made_from(resources: Iterable[Mapping[str, Any]], volume: str) -> str:
    """Returns the snapshot that a volume was made from by the state, "" if from none."""
    guards = (one.get("outputs") or {} for one in resources if one["type"] == VOLUME_GUARD)
    return next((str(one.get("snapshotId") or "") for one in guards if one.get("volumeName") == volume), "")


def forget() -> None:
    """Has the next question read the stack anew: for commands that go on while it changes."""
    for cached in (outputs, aws_place, _json):
        cached.cache_clear()


def _arns(known: list[dict[str, Any]]) -> list[str]:
    found = [one["outputs"].get("arn") for one in known if one["type"].startswith("aws:") and one.get("outputs")]
    return [arn for arn in found if isinstance(arn, str) and arn.count(":") >= 5]


@cache
def _json(*words: str) -> dict[str, Any]:
    return dict(_run(*words, *(["--stack", _Chosen.name] if _Chosen.name else [])))


def _run(*words: str) -> Any:
    command = ["pulumi", *words, "--non-interactive"]
    try:
        done = subprocess.run(command, cwd=project.folder(), capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise StackError("there is no pulumi on PATH: install it, or in the sandbox `source .sandbox/env`") from None
    except OSError as error:
        raise StackError(f"the pulumi on PATH does not start ({error.strerror}): {_PULUMI}") from None
    if done.returncode != 0:
        raise StackError(f"pulumi {' '.join(words)} failed: {done.stderr.strip()}")
    try:
        return json.loads(done.stdout)
    except ValueError:
        # What it printed may have secrets.
        raise StackError(f"pulumi {' '.join(words)} printed something other than JSON: {_PULUMI}") from None


def database() -> DatabaseOutputs | None:
    """Returns the outputs about the database server, None where the stack has none. Raises StackError."""
    return DatabaseOutputs.of(outputs())


def database_outputs() -> DatabaseOutputs:
    """Returns the outputs about the database server. Raises StackError where the stack has none."""
    found = database()
    if found is None:
        raise StackError("the stack has no database server: run `make up` (or `pulumi up`) first")
    return found
