"""Watches for lost clients, and has their jobs started elsewhere once EC2 says that those clients cannot write."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

from nomad_stateful.ebs.volumes import EbsVolumes
from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad import clients
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.paths import volume_path
from nomad_stateful.nomad.redeployment import evaluate
from nomad_stateful.recovery.failover import DelayedJob, Finding, cut_off, delayed_jobs, judge
from nomad_stateful.waiting import repeat

POLL_S = 1.0


@dataclass
class Watcher:
    """A stack's volumes, and what was last said about each job."""

    nomad: NomadApi
    ebs: EbsVolumes
    fence: bool
    volumes: frozenset[tuple[str, str]]
    """Namespace and id of each of the stack's volumes."""
    _said: dict[str, str] = field(default_factory=dict)
    _started: set[str] = field(default_factory=set)
    _fenced: set[str] = field(default_factory=set)

    @property
    def namespaces(self) -> set[str]:
        """Where the stack's volumes are."""
        return {namespace for namespace, _ in self.volumes}

    def check(self, own_job: tuple[str, str] | None = None) -> None:
        """Does once all that a failover takes: reads, and an evaluation of the watch's own job (namespace and id).

        Raises ProviderError.
        """
        if own_job is not None:
            evaluate(self.nomad, *own_job)
        for namespace, volume_id in sorted(self.volumes):
            list(delayed_jobs(self.nomad, namespace))
            self.nomad.find(volume_path(volume_id), namespace=namespace)
        clients.listed(self.nomad)
        self.ebs.refuse_unreadable()

    def watch(self) -> None:
        """Looks once a second, for ever."""
        namespaces = ", ".join(sorted(self.namespaces)) or "none"
        print(f"watching the jobs of namespace {namespaces} that use the stack's volumes", flush=True)

        def once() -> float:
            self.look()
            return POLL_S

        repeat(once)

    def look(self) -> None:
        """Looks once, and acts where it can; an error of Nomad's or EC2's is said, and the next look tries again."""
        try:
            for namespace in self.namespaces:
                for job in delayed_jobs(self.nomad, namespace):
                    if {(namespace, volume_id) for volume_id in job.volume_ids} & self.volumes:
                        self._act(job)
            self._said.pop("", None)
        except ProviderError as error:
            self._say("", f"error: {error}")

    def _act(self, job: DelayedJob) -> None:
        if job.evaluation_ids <= self._started:
            return  # Nomad keeps an evaluation until its time has come
        finding = judge(job, self.ebs)
        if finding.verdict == "start":
            evaluate(self.nomad, job.namespace, job.job_id)
            self._started |= job.evaluation_ids
            self._say(job.about, f"{job.job_id} starts elsewhere now: {finding.why}")
        elif finding.verdict == "fence" and self.fence:
            self._fence(job, finding)
        else:
            self._say(job.about, f"{job.job_id} waits: {finding.why}")

    def _fence(self, job: DelayedJob, finding: Finding) -> None:
        """Stops the instances once; not while the servers may be the ones that are cut off."""
        wanted = [one for one in finding.instance_ids if one not in self._fenced]
        away, ready = cut_off(self.nomad, self.ebs) if wanted else (0, 0)
        if wanted and away >= ready:
            why = f"{away} clients are down and {ready} ready, so the servers may be what is cut off"
            self._say(job.about, f"{job.job_id} waits: {finding.why}. Not fenced: {why}")
        elif wanted:
            self._say(job.about, f"stopping {', '.join(wanted)} for {job.job_id}: {finding.why}")
            self.ebs.stop_instances(wanted)
            self._fenced.update(wanted)

    def _say(self, about: str, text: str) -> None:
        """Prints a line with the time, once until it changes."""
        if self._said.get(about) != text:
            self._said[about] = text
            print(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC {text}", flush=True)
