"""The metrics, each with its labels and what it says."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from prometheus_client.core import GaugeMetricFamily

PREFIX = "nomad_stateful_"
# Their labels and help; docs/metrics.md lists them too.
GAUGES: dict[str, tuple[tuple[str, ...], str]] = {
    "clients": (("zone", "status"), "Nomad's clients: ready, ineligible, or another status of Nomad's, such as down."),
    "plugin_controllers": (("plugin",), "Controllers that the stack asks for."),
    "plugin_controllers_healthy": (("plugin",), "Controllers that are healthy."),
    "plugin_nodes": (("plugin", "zone"), "Node plugins that Nomad knows, at least one in each zone with a volume."),
    "plugin_nodes_healthy": (("plugin", "zone"), "Node plugins that are healthy."),
    "volume_info": (("volume", "id", "plugin", "zone", "namespace"), "Always 1: which volume it is."),
    "volume_claims": (("volume",), "Claims in Nomad."),
    "volume_dead_claims": (("volume",), "Claims of allocations that have ended, or whose client is away."),
    "volume_problems": (("volume",), "Stale claims and attachments, as nomad-stateful status shows them."),
    "volume_attachments": (("volume",), "Instances that EC2 has it attached to."),
    "volume_snapshot_schedules": (("volume",), "Schedules by which AWS takes snapshots of it."),
    "volume_snapshots": (("volume", "state"), "Snapshots by EC2's state: pending, completed, error."),
    "volume_newest_snapshot_timestamp_seconds": (("volume",), "When the newest complete snapshot was started."),
    "database_expected": (("nomad_job",), "Always 1: the stack has this database server."),
    "group_member_info": (("service", "member", "zone", "volume"), "Always 1: a member of the database's group."),
    "group_member_online": (
        ("service", "member"),
        "Whether the member is ONLINE and sees a majority; missing where its agent cannot be asked.",
    ),
    "group_member_primary": (("service", "member"), "Whether it is the primary too; missing where it cannot be asked."),
    "group_member_lag_seconds": (
        ("service", "member"),
        "How far behind what it executes is; missing out of the group.",
    ),
    "group_lag_limit_seconds": (("service",), "How far behind a member may be that answers reads: maxLagS."),
    "group_router_primary": (
        ("service", "client"),
        "Whether the router on a client leads to a primary, by its check; missing where Nomad has none.",
    ),
    "dump_scheduled": (("nomad_job",), "Always 1: the stack has dumps of this job."),
    "dump_failing_runs": (("nomad_job",), "Runs that failed since the newest that succeeded."),
    "dump_last_success_timestamp_seconds": (
        ("nomad_job",),
        "When the newest dump that succeeded was started; missing where Nomad no longer has the run.",
    ),
    "binlogs_until_timestamp_seconds": (
        ("nomad_job",),
        "Until when every transaction is in the binary logs in S3; missing where nothing was copied yet.",
    ),
    "binlogs_expected": (("nomad_job",), "Always 1: the stack copies this server's binary logs to S3."),
    "read_success": (("source",), "Whether nomad, ec2, s3 and stack answered."),
    "read_timestamp_seconds": ((), "When all of this was read."),
}


@dataclass
class Gauges:
    """Samples that are gathered, then shown as families."""

    samples: dict[str, list[tuple[Sequence[str], float]]] = field(default_factory=dict)

    def set(self, name: str, *labels: str, value: float) -> None:
        """Adds one sample, with the values of the gauge's labels in their order."""
        if len(labels) != len(GAUGES[name][0]):
            raise ValueError(f"{name} has the labels {GAUGES[name][0]}")
        self.samples.setdefault(name, []).append((labels, value))

    def families(self) -> list[GaugeMetricFamily]:
        """Returns what has samples, in the order of the table."""
        found = []
        for name, (labels, text) in GAUGES.items():
            family = GaugeMetricFamily(f"{PREFIX}{name}", text, labels=labels)
            for values, value in self.samples.get(name, []):
                family.add_metric(list(values), value)
            if family.samples:
                found.append(family)
        return found
