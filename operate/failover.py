"""Failover without Nomad's wait: watches for lost clients, and asks EC2 whether they can still write."""

import sys
import time
from argparse import ArgumentParser, Namespace
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from nomad_stateful.ebs.attachment import EbsVolumes
from nomad_stateful.ebs.ec2_client import ec2_client
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.plugin_server.values import ProviderError
from nomad_stateful.recovery.failover import DelayedJob, Finding, cut_off, delayed_jobs, judge, start_elsewhere
from operate import ownership, stack
from operate.cluster import connect
from operate.command import Command
from operate.errors import OperateError
from operate.zone_change.change import Wanted
from operate.zone_change.command import add_options, change

POLL_S = 1.0


def watch(*, fence: bool) -> None:
    """Looks once a second, for ever. Raises OperateError and ProviderError only before its first look."""
    nomad = connect()
    try:
        watcher = Watcher.of_stack(nomad, fence=fence)
        namespaces = ", ".join(sorted(watcher.namespaces)) or "none"
        print(f"watching the jobs of namespace {namespaces} that use the stack's volumes", flush=True)
        while True:
            watcher.look()
            time.sleep(POLL_S)
    finally:
        nomad.close()


@dataclass
class Watcher:
    """One stack's volumes, and what was last said about each job."""

    nomad: NomadApi
    ebs: EbsVolumes
    ec2: Any
    fence: bool
    volumes: frozenset[tuple[str, str]]
    """Namespace and id of each of the stack's volumes."""
    _said: dict[str, str] = field(default_factory=dict)
    _started: set[str] = field(default_factory=set)
    _fenced: set[str] = field(default_factory=set)

    @classmethod
    def of_stack(cls, nomad: NomadApi, *, fence: bool) -> "Watcher":
        """Returns the watcher of the stack's volumes. Raises OperateError and ProviderError."""
        place = stack.aws_place()
        known = stack.outputs().get("volumes") or {}
        found = ownership.namespaces(nomad, known)
        volumes = frozenset((namespace, str(known[name]["nomadId"])) for name, namespace in found.items())
        if not volumes:
            raise OperateError("the stack has no registered volume: nothing to watch. Run `pulumi up` first")
        return cls(nomad, EbsVolumes(place), ec2_client(place), fence, volumes)

    @property
    def namespaces(self) -> set[str]:
        """Where the stack's volumes are."""
        return {namespace for namespace, _ in self.volumes}

    def look(self) -> None:
        """Looks once, and acts where it can; an error of Nomad's or EC2's is said, and the next look tries again."""
        try:
            for namespace in self.namespaces:
                for job in delayed_jobs(self.nomad, namespace):
                    if {(namespace, volume_id) for volume_id in job.volume_ids} & self.volumes:
                        self._act(job)
            self._said.pop("", None)
        except (ProviderError, BotoCoreError, ClientError) as error:
            self._say("", f"error: {error}")

    def _act(self, job: DelayedJob) -> None:
        if job.evaluation_id in self._started:
            return  # Nomad keeps the evaluation until its time has come
        finding = judge(job, self.ebs)
        if finding.verdict == "start":
            start_elsewhere(self.nomad, job)
            self._started.add(job.evaluation_id)
            self._say(job.evaluation_id, f"{job.job_id} starts elsewhere now: {finding.why}")
        elif finding.verdict == "fence" and self.fence:
            self._fence(job, finding)
        else:
            self._say(job.evaluation_id, f"{job.job_id} waits: {finding.why}")

    def _fence(self, job: DelayedJob, finding: Finding) -> None:
        """Stops the instances once; not while the servers may be the ones that are cut off."""
        wanted = [one for one in finding.instance_ids if one not in self._fenced]
        away, ready = cut_off(self.nomad, self.ebs) if wanted else (0, 0)
        if wanted and away >= ready:
            why = f"{away} clients are down and {ready} ready, so the servers may be what is cut off"
            self._say(job.evaluation_id, f"{job.job_id} waits: {finding.why}. Not fenced: {why}")
        elif wanted:
            self._say(job.evaluation_id, f"stopping {', '.join(wanted)} for {job.job_id}: {finding.why}")
            self.ec2.stop_instances(InstanceIds=wanted)
            self._fenced.update(wanted)

    def _say(self, about: str, text: str) -> None:
        """Prints a line with the time, once until it changes."""
        if self._said.get(about) != text:
            self._said[about] = text
            print(f"{time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime())} UTC {text}", flush=True, file=sys.stdout)


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("volume", nargs="?", default="", help="with --zone: the volume whose zone is lost")
    parser.add_argument("--zone", default="", help="the zone that the volume and what uses it go to, from a snapshot")
    parser.add_argument("--snapshot", default="", metavar="ID", help="go on from this one; by default the newest")
    parser.add_argument("--max-loss", type=float, metavar="MINUTES", help="refuse an older snapshot than that")
    add_options(parser)
    parser.add_argument(
        "--fence", action="store_true", help="stop the instance of a lost client that runs and has the volume attached"
    )


def _run(known: Namespace) -> None:
    if not known.volume and not known.zone:
        watch(fence=known.fence)
        return
    if not known.volume or not known.zone or known.fence:
        raise OperateError(
            "`operate failover VOLUME --zone ZONE` brings one volume into another zone; without both it is a watch, "
            "which alone takes --fence"
        )
    wanted = Wanted(
        known.volume,
        known.zone,
        lost=True,
        snapshot_id=known.snapshot,
        max_loss_min=known.max_loss,
        timeout_s=known.timeout,
    )
    change(wanted, yes=known.yes, dry_run=known.dry_run, as_json=known.json)


COMMAND = Command(
    "failover",
    "watch for lost clients, and start their jobs elsewhere as soon as EC2 says that they cannot write; with VOLUME "
    "and --zone: its zone is lost, go on in another one from its newest snapshot",
    _run,
    _arguments,
)
