"""Prometheus exporter of the file systems of each client, among them each mounted volume's."""

from typing import NotRequired, TypedDict

import pulumi

from nomad_stateful.components import job_variables
from nomad_stateful.components.component_type import Component
from nomad_stateful.components.consumer import Consumer
from nomad_stateful.components.exporter import ExporterService, ExporterTask
from nomad_stateful.components.ownership import Owner
from nomad_stateful.components.placement import JobPlacement


class VolumeMetricsArgs(TypedDict):
    """Inputs of VolumeMetrics."""

    job_id: str
    """Id of the job."""
    placement: JobPlacement
    """Where the job runs: on every client there."""
    owner: NotRequired[Owner | None]
    """Whose the job is: claimed before anything is made under its id."""
    task: ExporterTask
    """How the exporter runs."""
    service: ExporterService
    """Where the exporters are found."""
    timeout_s: NotRequired[int]
    """How long to wait for the exporters to run, in seconds; 300 if left out."""


class VolumeMetrics(Component):
    """node_exporter's filesystem collector on every client: Nomad does not ask the drivers how full volumes are."""

    job_id: pulumi.Output[str]
    """Id of the job, once it runs on every client."""

    def __init__(self, name: str, args: VolumeMetricsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("VolumeMetrics", name, opts)
        own = Consumer(name, args["job_id"], args["placement"], self, args.get("owner"))
        job = own.job("volume-metrics", job_variables.volume_metrics(args))
        self.job_id = own.health(job, "exporter", args.get("timeout_s", 300)).job_id
        self.register_outputs({"job_id": self.job_id})
