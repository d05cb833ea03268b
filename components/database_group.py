"""Three servers of a database that are one replication group, and the routers that lead to its primary."""

from collections.abc import Sequence
from typing import ClassVar, TypedDict, TypeVar

import pulumi

from nomad_stateful.components import job_variables
from nomad_stateful.components.account import account_of, in_account
from nomad_stateful.components.component_type import Component, component_type
from nomad_stateful.components.consumer import Consumer, RegisteredVolume
from nomad_stateful.components.database import (
    DatabaseMember,
    DatabaseServer,
    DatabaseServerArgs,
    by_account,
    drawn_passwords,
)
from nomad_stateful.components.exporter import ExporterTask
from nomad_stateful.databases.model import Database
from nomad_stateful.sdk import ReplicationGroup, get_service_output

T = TypeVar("T")


class DatabaseRouter(TypedDict):
    """How the routers run, and where they answer reads."""

    job_id: str
    """Id of their job; its service has the name of the server's job."""
    task: ExporterTask
    """Image, CPU and memory of each."""
    read_port: int
    """Port on each client for reads; writes have the server's."""
    max_lag_s: int
    """How far behind a member may be that answers reads, in seconds."""


class DatabaseGroupArgs(TypedDict):
    """Inputs of a database's group."""

    server: DatabaseServerArgs
    """What is common to the members. Its job's id is the name of the routers' service, its port theirs, and its volume
    the first member's."""
    member: DatabaseMember
    """The members; what is decided about the group stands in its place."""
    volumes: list[RegisteredVolume]
    """The members' volumes, in the order of their names."""
    router: DatabaseRouter
    """The routers."""


class DatabaseGroup(Component):
    """A group whose rows outlive the loss of any one of its zones."""

    _database: ClassVar[Database]
    _server: ClassVar[type[DatabaseServer]]
    _type_name: ClassVar[str]

    host: pulumi.Output[str]
    """Address of a client with a router."""
    port: pulumi.Output[int]
    """Port of the routers, for reads and writes."""
    password: pulumi.Output[str]
    """Password of the superuser (secret)."""
    account_passwords: pulumi.Output[dict[str, str]]
    """Passwords of the accounts, by name (secret)."""

    def __init__(self, name: str, args: DatabaseGroupArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        opts = in_account(type(self).__name__, name, account_of(args["volumes"]), opts)
        super().__init__(self._type_name, name, opts)
        server, parent = args["server"], (opts and opts.parent) or None
        own = Consumer(name, args["router"]["job_id"], server["placement"], self, server.get("owner"))
        self._members = self._made(name, args, parent)
        # After a single server has given up its port, and its service's name.
        router = own.job("database-router", job_variables.database_router(args), [self._members[-1].release])
        health = own.health(router, "router", server["timeout_s"])
        service = get_service_output(
            # Of the allocation, so that nothing is asked before there is one.
            job_id=pulumi.Output.all(health.job_id, health.allocation_id).apply(lambda known: str(known[0])),
            namespace=server["placement"]["namespace"],
            group="router",
            port_label="db",
            parent=self,
        )
        self.host = service.apply(lambda known: known.host)
        self.port = service.apply(lambda known: known.port)
        self.register_outputs({"host": self.host, "port": self.port, "password": self.password})

    @property
    def members(self) -> list[DatabaseServer]:
        """Returns the members, in turn."""
        return self._members

    def _made(self, name: str, args: DatabaseGroupArgs, parent: pulumi.Resource | None) -> list[DatabaseServer]:
        """Makes the members one after the other.

        The first takes the place of a single server of the group's name, with its volume and its passwords.
        """
        server, names = args["server"], args["member"]["members"]
        single = pulumi.create_urn(name, component_type(self._server._type_name), parent)  # noqa: SLF001 - its own kind
        passwords = drawn_passwords(name, self._database, {**server, "member": args["member"]}, self, single)
        self.password, self.account_passwords = pulumi.Output.secret(passwords["root"]), by_account(passwords)
        group = ReplicationGroup(
            f"{name}-group",
            job_id=server["job_id"],
            namespace=server["placement"]["namespace"],
            candidate=names[0],
            opts=pulumi.ResourceOptions(parent=self, aliases=[pulumi.Alias(parent=single)]),
        )
        member: DatabaseMember = {**args["member"], "group_id": group.group_id, "first": group.first}
        volumes = dict(zip(names, args["volumes"], strict=True))
        made: list[DatabaseServer] = []
        for member_name in in_turn(names):
            inputs: DatabaseServerArgs = {
                **server,
                "job_id": member_name,
                "volume": volumes[member_name],
                "member": member,
                "passwords": passwords,
            }
            if member_name != names[0]:
                # Those of a group that is new need each other, and start together.
                inputs["serving"] = [server["job_id"], names[0]]
            earlier = pulumi.Alias(name=name, parent=parent or pulumi.ROOT_STACK_RESOURCE)
            aliases = [earlier] if member_name == names[0] else None
            options = pulumi.ResourceOptions(parent=self, depends_on=made[-1:], aliases=aliases)
            made.append(self._server(member_name, inputs, options))
        return made


def in_turn(members: Sequence[T]) -> list[T]:
    """Returns the members in the order in which they are made and changed: the first begins with the others there."""
    return [*members[1:], *members[:1]]
