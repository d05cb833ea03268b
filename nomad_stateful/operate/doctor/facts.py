"""What the checks look at: each fact is read once, when a check first asks for it, and nothing is changed."""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from nomad_stateful.databases.catalogue import DATABASES
from nomad_stateful.databases.model import Database
from nomad_stateful.drivers.catalogue import DRIVERS
from nomad_stateful.drivers.model import CsiDriver
from nomad_stateful.ebs.ec2_client import AwsPlace, aws_client, caller
from nomad_stateful.ebs.filters import in_batches
from nomad_stateful.ebs.volumes import EbsVolumes, is_ebs_volume
from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad import clients
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.clients import Client
from nomad_stateful.nomad.paths import plugin_path
from nomad_stateful.operate import stack
from nomad_stateful.operate.cluster import connect
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.recovery.volume_usage import VolumeUsage, inspect_volume
from nomad_stateful.resource_types import IAM_ROLE_POLICY_ATTACHMENT, NOMAD_JOB, STACK

T = TypeVar("T")
Json = Mapping[str, Any]
_PARALLEL = 8
_CLIENT_TIMEOUT_S = 3.0
_LONGEST = 300


class NotChecked(Exception):
    """A check cannot be made; the text says why."""


@dataclass(frozen=True)
class Sources:
    """Where facts come from; a test gives its own."""

    settings: Json
    """The stack's configuration, by keys without the project's name."""
    resources: Sequence[Json]
    """The resources in the stack's state."""
    place: AwsPlace
    allowed_accounts: Sequence[str] = ()
    nomad: Callable[[], NomadApi] = connect
    """Nomad, with the operator's token."""
    program: Callable[[], NomadApi] = lambda: connect(operator=False)
    """Nomad, with the token of `pulumi up`."""
    client: Callable[[Client], NomadApi] = field(default=lambda one: _client_api(one))  # noqa: PLW0108 - defined below
    """The agent of one client."""
    aws: Callable[[str, AwsPlace], Any] = aws_client
    ebs: Callable[[AwsPlace], EbsVolumes] = EbsVolumes
    caller: Callable[[AwsPlace], tuple[str, str]] = caller

    @classmethod
    def of_stack(cls) -> "Sources":
        """Returns those of the chosen stack, also of one that has not been deployed. Raises StackError."""
        config = stack.config()
        own = {key.partition(":")[2]: value for key, value in config.items() if key.startswith("nomad-stateful:")}
        return cls(own, stack.resources(), stack.aws_place(), config.get("aws:allowedAccountIds") or ())


class Facts:
    """The stack, its cluster and its account, as the checks ask for them. Every question may raise NotChecked."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self.settings = sources.settings
        self.place = sources.place
        self._read: dict[str, Any] = {}

    def once(self, key: str, read: Callable[[], T]) -> T:
        """Returns what the first call for a key returned, or raises what it raised, as NotChecked."""
        if key not in self._read:
            try:
                self._read[key] = read()
            except (ProviderError, OperateError, BotoCoreError, ClientError, NotChecked) as error:
                self._read[key] = error if isinstance(error, NotChecked) else NotChecked(_line(error))
        found = self._read[key]
        if isinstance(found, NotChecked):
            raise NotChecked(str(found))
        return found  # type: ignore[no-any-return]

    def nomad(self) -> NomadApi:
        """Returns the cluster, which answers."""

        def reached() -> NomadApi:
            api = self.sources.nomad()
            api.reach()
            return api

        return self.once("nomad", reached)

    def program(self) -> NomadApi:
        """Returns the cluster with the token of `pulumi up`."""
        self.nomad()
        return self.once("program", self.sources.program)

    def close(self) -> None:
        """Closes the connections."""
        for key in ("nomad", "program"):
            if hasattr(self._read.get(key), "close"):
                self._read[key].close()

    def clients(self) -> list[Client]:
        """Returns every client that is not down."""

        def read() -> list[Client]:
            api = self.nomad()
            return clients.read(api, [stub for stub in clients.listed(api) if stub.status != "down"])

        return self.once("clients", read)

    def servers(self) -> list[Json]:
        """Returns the servers that are up, as gossip has them."""
        members = self.once("members", lambda: self.nomad().get("agent/members"))
        return [one for one in members.get("Members") or [] if one["Status"] == "alive"]

    def agents(self) -> dict[str, Json | str]:
        """Returns the agents' own configuration by the clients' names; of one that does not answer, why."""

        def of(client: Client) -> Json | str:
            api = self.sources.client(client)
            try:
                found: Json = api.get("agent/self", timeout_s=_CLIENT_TIMEOUT_S)["config"]
            except ProviderError as error:
                return _line(error)
            finally:
                api.close()
            return found

        def read() -> dict[str, Json | str]:
            known = self.clients()
            with ThreadPoolExecutor(_PARALLEL) as pool:
                return {client.name: found for client, found in zip(known, pool.map(of, known), strict=True)}

        return self.once("agents", read)

    def plugins(self) -> list[Json]:
        """Returns the settings of the plugins."""
        return self._entries("plugins")

    def own_plugins(self) -> list[Json]:
        """Returns the settings of the plugins that the stack runs: of others it is not known how they run."""
        return [plugin for plugin in self.plugins() if not plugin.get("existing")]

    def plugin(self, plugin_id: str) -> Json | None:
        """Returns what Nomad knows of a plugin; None where it knows none."""
        return self.once(f"plugin {plugin_id}", lambda: self.nomad().find(plugin_path(plugin_id)))

    def find(self, path: str, namespace: str) -> Any:
        """Returns what Nomad has at a path in a namespace; None where there is nothing."""
        return self.once(f"{namespace}/{path}", lambda: self.nomad().find(path, namespace=namespace))

    def registered(self, namespace: str = "*") -> list[Json]:
        """Returns the CSI volumes of a namespace, or of all, as Nomad lists them."""
        key = f"volumes in {namespace}"
        return self.once(key, lambda: self.nomad().get("volumes", type="csi", namespace=namespace)) or []

    def usage(self, namespace: str, volume_id: str, external_id: str) -> VolumeUsage:
        """Returns what holds a volume: claims, clients and, of an EBS volume, attachments."""

        def read() -> VolumeUsage:
            ebs = self.sources.ebs(self.place) if is_ebs_volume(external_id) else None
            return inspect_volume(self.nomad(), namespace, volume_id, external_id, ebs)

        return self.once(f"usage of {namespace}/{volume_id}", read)

    def volumes(self) -> list[Json]:
        """Returns the settings of the volumes."""
        return self._entries("volumes")

    def _entries(self, key: str) -> list[Json]:
        found = self.settings.get(key) or []
        if not isinstance(found, list) or not all(isinstance(one, Mapping) for one in found):
            raise NotChecked(f"nomad-stateful:{key} is not a list of maps: write it as one (docs/config.md)")
        return found

    def namespace(self) -> str:
        """Returns the namespace of the stack's jobs and volumes."""
        return self.once("namespace", lambda: stack.namespace_of(self.settings.get("placement")))

    def database(self) -> tuple[Database, Json] | None:
        """Returns the database that the settings have, and its section; None where they have none."""
        found = next(
            ((one, self.settings[one.name]) for one in DATABASES.values() if self.settings.get(one.name)), None
        )
        if found and not isinstance(found[1], Mapping):
            raise NotChecked(f"nomad-stateful:{found[0].name} is not a map: write it as one (docs/config.md)")
        return found

    def server(self) -> stack.DatabaseOutputs | None:
        """Returns what the deployed stack says of its database; None where it has none."""
        return next(filter(None, map(stack.DatabaseOutputs.of, self.made(STACK))), None)

    def has_group(self) -> bool:
        """Returns whether the settings ask for a replication group, or the stack has one."""
        sections, server = map(self.settings.get, DATABASES), self.server()
        wanted = any(isinstance(one, Mapping) and one.get("group") is not None for one in sections)
        return wanted or (server is not None and bool(server.members))

    def client_role(self) -> str:
        """Returns the role that the stack gives the driver's permissions to."""
        attached = IAM_ROLE_POLICY_ATTACHMENT
        made = [(one.get("outputs") or {}).get("role") for one in self.sources.resources if one["type"] == attached]
        found = self.settings.get("clientRole") or next(filter(None, made), "")
        if not found:
            raise NotChecked("clientRole is not set, and the stack has attached no policy yet")
        return str(found)

    def made(self, *types: str) -> list[Json]:
        """Returns the outputs of the stack's resources of these types."""
        return [one["outputs"] for one in self.sources.resources if one["type"] in types and one.get("outputs")]

    def jobs(self) -> list[tuple[str, str]]:
        """Returns id and namespace of the jobs that the stack has deployed."""
        made = [one for one in self.sources.resources if one["type"] == NOMAD_JOB and one.get("id")]
        return [(str(one["id"]), str((one.get("outputs") or {}).get("namespace") or "default")) for one in made]

    def aws(self, service: str) -> Any:
        """Returns a client of a service, in the stack's account."""
        return self.once(f"aws {service}", partial(self.sources.aws, service, self.place))

    def ask(self, service: str, call: str, **arguments: Any) -> Json:
        """Returns AWS's answer to a call that only reads."""
        key = f"{service} {call} {sorted(arguments.items())}"
        return self.once(key, lambda: getattr(self.aws(service), call)(**arguments))

    def caller(self) -> tuple[str, str]:
        """Returns account and ARN of the AWS credentials."""
        return self.once("caller", lambda: self.sources.caller(self.place))

    def simulate(self, **arguments: Any) -> list[str]:
        """Returns the actions that IAM would refuse a principal. One refusal to simulate counts for all questions."""
        told = self._read.get("no simulation")
        if isinstance(told, NotChecked):
            raise NotChecked(str(told))
        try:
            answer = self.ask("iam", "simulate_principal_policy", **arguments)
        except NotChecked as error:
            self._read["no simulation"] = error
            raise
        return [one["EvalActionName"] for one in answer["EvaluationResults"] if one["EvalDecision"] != "allowed"]

    def instances(self) -> dict[str, Json]:
        """Returns the clients' EC2 instances, by id; those that EC2 does not know are missing."""
        ids = sorted({client.instance_id for client in self.clients()} - {""})
        if not ids:
            raise NotChecked("no client says that it runs on an EC2 instance")
        answers = [self.ask("ec2", "describe_instances", Filters=one) for one in in_batches("instance-id", ids)]
        reservations = [reserved for answer in answers for reserved in answer["Reservations"]]
        return {one["InstanceId"]: one for reserved in reservations for one in reserved["Instances"]}


def driver_of(plugin: Json) -> CsiDriver:
    """Returns the driver of a plugin's settings. Raises NotChecked for one that the program refuses."""
    name = str(plugin.get("driver") or "ebs")
    if name not in DRIVERS:
        raise NotChecked(f"plugins.{plugin.get('id')}.driver is {name}: there is no such driver")
    return DRIVERS[name]


def listed(names: Sequence[str], most: int = 4) -> str:
    """Returns names for a sentence, not more than a few."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _client_api(client: Client) -> NomadApi:
    scheme = "https" if client.has_tls else "http"
    token = os.environ.get("NOMAD_OPERATOR_TOKEN", "")
    name = os.environ.get("NOMAD_TLS_SERVER_NAME", "").replace("server.", "client.", 1)
    own = {"address": f"{scheme}://{client.http_address}", "token": token, "server_name": name}
    return NomadApi.from_env(stack.nomad_config() | {key: value for key, value in own.items() if value})


def _line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
