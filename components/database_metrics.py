"""Prometheus exporter of a database server, in a job of its own."""

from typing import ClassVar, NotRequired, TypedDict

import pulumi
import pulumi_nomad as nomad

from nomad_stateful.components import job_variables
from nomad_stateful.components.component_type import Component
from nomad_stateful.components.consumer import Consumer
from nomad_stateful.components.exporter import ExporterService, ExporterTask
from nomad_stateful.components.ownership import Owner
from nomad_stateful.components.placement import JobPlacement
from nomad_stateful.databases.model import Database
from nomad_stateful.sdk import GeneratedSecret


class MeasuredServer(TypedDict):
    """The server that is measured."""

    service: str
    """Name of its service."""
    provider: str
    """Where the service is registered: nomad or consul."""
    on_every_client: NotRequired[bool]
    """Whether each client has an instance of the service, of which a job asks its own's; false if left out."""
    tls: str
    """off, preferred or required."""
    ca: NotRequired[str]
    """The authority's certificate in PEM, by which the server is verified; nothing is verified if left out."""
    certificate_name: NotRequired[str]
    """With `ca`: a name of the server's certificate."""
    image: str
    """Image with the database's client."""


class DatabaseMetricsArgs(TypedDict):
    """Inputs of a database's exporter."""

    job_id: str
    """Id of the job."""
    placement: JobPlacement
    """Where the job may run."""
    owner: NotRequired[Owner | None]
    """Whose the job is: claimed before anything is made under its id."""
    server: MeasuredServer
    """The server."""
    account: str
    """Account that the exporter has, made by the job; it may see the server's state and no rows."""
    root_password: pulumi.Input[str]
    """Password of the superuser, with which the account is made (secret)."""
    task: ExporterTask
    """How the exporter runs."""
    service: ExporterService
    """Where the exporter is found."""
    timeout_s: int
    """How long to wait for the exporter to run, in seconds."""


class DatabaseMetrics(Component):
    """A database's exporter beside its server, which neither it nor a change of it restarts."""

    _database: ClassVar[Database]
    _type_name: ClassVar[str]

    job_id: pulumi.Output[str]
    """Id of the job, once it runs."""
    web_password: pulumi.Output[str]
    """Password of `prometheus`, without which the exporter answers nothing (secret)."""

    def __init__(self, name: str, args: DatabaseMetricsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(self._type_name, name, opts)
        own = Consumer(name, args["job_id"], args["placement"], self, args.get("owner"))
        options = pulumi.ResourceOptions(parent=self)
        password = GeneratedSecret(f"{name}-password", length=32, opts=options).result
        self.web_password = GeneratedSecret(f"{name}-web-password", length=32, opts=options).result
        # By Nomad's own rule of paths, the superuser's password is for the task that makes the account alone.
        of_root = nomad.Variable(
            f"{name}-account-variable",
            namespace=args["placement"]["namespace"],
            path=f"nomad/jobs/{args['job_id']}/exporter/account",
            items=pulumi.Output.secret({"root_password": args["root_password"]}),
            opts=pulumi.ResourceOptions(parent=self, depends_on=own.claims, delete_before_replace=True),
        )
        variable = own.variable({"password": password, "web_password": self.web_password}, [])
        job = own.job(
            "database-metrics",
            job_variables.database_metrics(self._database, args),
            depends_on=[variable, of_root],
        )
        self.job_id = own.health(job, "exporter", args["timeout_s"]).job_id
        self.register_outputs({"job_id": self.job_id, "web_password": self.web_password})
