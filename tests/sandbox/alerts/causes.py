"""What makes each alert fire, and what its section of docs/metrics.md, or the page it leads to, says to do then."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

import yaml

from tests.sandbox.alerts import acting
from tests.sandbox.alerts.acting import operate, run, up
from tests.sandbox.alerts.prometheus import Labels, Watch
from tools.trial.kernel import may_grow_mounted_ext4
from tools.trial.running import eventually

FIRES_S = 180
CLEARS_S = 120
Work = Callable[[Watch], AbstractContextManager[None]]


@dataclass(frozen=True)
class Cause:
    """One way to an alert. What is done after `yield` is the cure."""

    alert: str
    what: str
    labels: Labels
    work: Work = field(repr=False)

    @property
    def name(self) -> str:
        """Name of its test."""
        return f"{self.alert}: {self.what}"

    def happen(self, watch: Watch) -> tuple[str, ...]:
        """Causes and cures; returns the row of docs/metrics.md. Fails where the alert does not fire, or not clear."""
        prometheus = watch.prometheus

        def fires() -> bool:
            return prometheus.fires(self.alert, self.labels)

        def state() -> str:
            return yaml.safe_dump([prometheus.get("alerts"), dict(self.labels)])

        with self.work(watch):
            begun = time.monotonic()
            eventually(lambda: fires() or None, FIRES_S, f"{self.name} fires", state)
            fired = time.monotonic()
        cured = time.monotonic()
        eventually(lambda: not fires() or None, CLEARS_S, f"{self.name} clears", state)
        return self.alert, self.what, f"{fired - begun:.0f}", f"{time.monotonic() - cured:.0f}"


CAUSES: list[Cause] = []


def cause(
    alert: str, what: str, into: list[Cause] = CAUSES, **labels: str
) -> Callable[[Callable[[Watch], Iterator[None]]], Work]:
    """Adds a cause to the table, in the order in which they are made to happen."""

    def add(work: Callable[[Watch], Iterator[None]]) -> Work:
        made = contextmanager(work)
        into.append(Cause(alert, what, labels, made))
        return made

    return add


@cause("DumpOld", "no dump since the stack was made", nomad_job="mysql-backup", severity="critical")
def never_dumped(watch: Watch) -> Iterator[None]:
    yield
    acting.dump_whole(watch)


@cause("SnapshotOld", "schedules, and no snapshot yet", volume="mysql", severity="warning")
def never_snapped(watch: Watch) -> Iterator[None]:
    yield
    operate(watch, "snapshot", "mysql")


@cause("DrillFailed", "the newest snapshot is older than --max-age", volume="mysql", severity="critical")
def failed_drill(watch: Watch) -> Iterator[None]:
    acting.drill(watch, "1s", status=1)
    yield
    # Without a table a drill proves nothing.
    acting.sql(watch, "CREATE DATABASE IF NOT EXISTS alerts")
    acting.sql(watch, "CREATE TABLE IF NOT EXISTS alerts.kept (id INT PRIMARY KEY)")
    operate(watch, "snapshot", "mysql")
    acting.drill(watch, "1h")


@cause("VolumeInodesAlmostUsed", "empty files until 85 % are used", volume="mysql", severity="warning")
def many_files(watch: Watch) -> Iterator[None]:
    acting.use_inodes(watch, "mysql", 85)
    yield
    acting.free(watch, "mysql")


@cause("VolumeFullWithinADay", "4 MiB more each second from 55 %", volume="mysql", severity="warning")
def growth(watch: Watch) -> Iterator[None]:
    with acting.growing(watch, "mysql", 4, 90):
        yield


@cause("VolumeAlmostFull", "a file until 85 % are used", volume="mysql", severity="warning")
def full(watch: Watch) -> Iterator[None]:
    acting.fill(watch, "mysql", 85)
    yield
    if may_grow_mounted_ext4():
        acting.set_size(watch, "mysql", 2)
        up(watch)
    acting.free(watch, "mysql")


@cause("DrillOld", "no further drill", volume="mysql", severity="warning")
def old_drill(watch: Watch) -> Iterator[None]:
    yield
    operate(watch, "snapshot", "mysql")
    acting.drill(watch, "1h")


@cause("SnapshotOld", "no further snapshot", volume="mysql", severity="warning")
def old_snapshot(watch: Watch) -> Iterator[None]:
    yield
    operate(watch, "snapshot", "mysql")


@cause("DumpOld", "no further dump", nomad_job="mysql-backup", severity="critical")
def old_dump(watch: Watch) -> Iterator[None]:
    yield
    acting.dump_whole(watch)


@cause("SnapshotFailed", "EC2 fails a snapshot", volume="mysql", state="error", severity="critical")
def failed_snapshot(watch: Watch) -> Iterator[None]:
    acting.ctl(watch, "fault", "on", "snapshot", "--count", "1")
    operate(watch, "snapshot", "mysql", status=1)
    yield
    ec2 = watch.stack.ec2
    for one in ec2.describe_snapshots(Filters=[{"Name": "status", "Values": ["error"]}])["Snapshots"]:
        ec2.delete_snapshot(SnapshotId=one["SnapshotId"])


@cause("DumpFailed", "the account may not read", nomad_job="mysql-backup", severity="critical")
def failed_dump(watch: Watch) -> Iterator[None]:
    acting.sql(watch, "REVOKE SELECT ON *.* FROM 'backup'@'%'")
    failing = acting.dump(watch)
    yield
    acting.sql(watch, "GRANT SELECT ON *.* TO 'backup'@'%'")
    run(watch, "nomad", "job", "stop", "-detach", failing)
    acting.dump_whole(watch)


@cause(
    "PluginUnhealthy",
    "the node plugin of a zone hangs",
    plugin="aws-ebs0",
    part="node",
    zone="us-west-2b",
    severity="critical",
)
def node_plugin_hangs(watch: Watch) -> Iterator[None]:
    found = acting.allocation(watch, "plugin-aws-ebs0-node", "client-3")
    acting.hang(watch, "node", "client-3")
    yield
    run(watch, "nomad", "alloc", "restart", found["ID"])


@cause("PluginUnhealthy", "a controller hangs", plugin="aws-ebs0", part="controller", severity="critical")
def controller_hangs(watch: Watch) -> Iterator[None]:
    found = acting.allocation(watch, "plugin-aws-ebs0-controller")
    acting.hang(watch, "controller", found["NodeName"])
    yield
    run(watch, "nomad", "alloc", "restart", found["ID"])


@cause("DatabaseDown", "its job is stopped", job="mysql-metrics", severity="critical")
def stopped(watch: Watch) -> Iterator[None]:
    run(watch, "nomad", "job", "stop", "mysql-server")
    yield
    up(watch)


@cause("DatabaseDown", "the exporter's job is stopped", nomad_job="mysql-server", severity="critical")
def exporter_stopped(watch: Watch) -> Iterator[None]:
    run(watch, "nomad", "job", "stop", "mysql-metrics")
    yield
    up(watch)


@cause("VolumeClaimedByDeadAllocation", "the network of MySQL's client is cut", volume="mysql", severity="critical")
def cut_off(watch: Watch) -> Iterator[None]:
    client, _ = acting.place(watch, "mysql")
    instance = acting.instance(watch, client)
    acting.ctl(watch, "cut", client)
    yield
    operate(watch, "recover", "mysql", "--fence", "--yes")
    acting.start(watch, instance)


@cause("MetricsMissing", "EC2 does not answer", source="ec2", severity="warning")
def no_ec2(watch: Watch) -> Iterator[None]:
    acting.ctl(watch, "fault", "on", "error", "--action", "DescribeSnapshots")
    yield
    acting.ctl(watch, "fault", "off")


@cause("MetricsMissing", "its file is not renewed", job="textfiles", severity="warning")
def old_file(watch: Watch) -> Iterator[None]:
    file = watch.textfiles / "metrics.prom"
    operate(watch, "metrics", "--output", str(file))
    yield
    operate(watch, "metrics", "--output", str(file))
    eventually(lambda: not watch.prometheus.firing("MetricsMissing") or None, 30, "the file is new")
    file.unlink()


@cause("MetricsMissing", "nomad-stateful metrics is ended", severity="warning")
def not_running(watch: Watch) -> Iterator[None]:
    watch.stop_operate()
    eventually(lambda: not watch.prometheus.query('up{job="operate"} == 1') or None, 30, "it is not scraped")
    yield
    watch.start_operate()
