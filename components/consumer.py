"""What every job on a CSI volume needs: a gate for each volume, the job itself, and its health."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, NotRequired, TypedDict

import pulumi
import pulumi_nomad as nomad

from nomad_stateful import jobspec as jobs
from nomad_stateful.components.nomad_job import private_variable, submit
from nomad_stateful.components.ownership import Owner, claim
from nomad_stateful.components.placement import JobPlacement
from nomad_stateful.sdk import JobHealth, Ownership, VolumeRelease


class RegisteredVolume(TypedDict):
    """A registered volume, as its consumer needs to know it."""

    name: NotRequired[str]
    """Tells this volume from others of the program, so that a consumer which moves to another has another gate."""
    earlier_name: NotRequired[str | None]
    """The name it had before."""
    volume_id: pulumi.Input[str]
    """Id of the registered volume."""
    registration_id: pulumi.Input[str]
    """Id of its registration: when that is replaced, the consumer is stopped before and started after."""
    restart_id: pulumi.Input[str]
    """A value whose change restarts the consumer, such as after the volume grew; empty at first."""
    external_id: pulumi.Input[str]
    """Id at the storage provider, to know when the volume is detached."""
    backend: str
    """What holds the data: ebs, or none where only Nomad knows when it is released."""
    region: NotRequired[str]
    """Earlier way to configure the provider nomad-csi: its awsRegion, where the program gives none."""
    account_id: NotRequired[pulumi.Input[str]]
    """The same of its awsAccountId."""
    aws_config: NotRequired[pulumi.Input[str]]
    """The same of its awsConfig."""


class Former(NamedTuple):
    """Another component that had the volume, whose gate this one's takes the place of."""

    name: str
    """First part of its resources' names."""
    urn: pulumi.Input[str]
    """The component."""
    end: pulumi.Resource
    """Comes before the gate: what ends the use of the volume there."""


@dataclass(frozen=True)
class Consumer:
    """A job on CSI volumes, as a part of the component that is its parent."""

    name: str
    """First part of its resources' names."""
    job_id: str
    """Id of the job."""
    placement: JobPlacement
    """Where it may run."""
    parent: pulumi.Resource
    """The component."""
    owner: Owner | None
    """Whose it is."""

    @cached_property
    def claims(self) -> list[Ownership]:
        """The claim to the job's id, which comes before all that has to do with the job and goes after it."""
        what = ("job", self.placement["namespace"], self.job_id)
        return claim(f"{self.name}-job", what, self.owner, pulumi.ResourceOptions(parent=self.parent))

    def gate(
        self,
        suffix: str,
        volume: RegisteredVolume,
        timeout_s: int,
        *,
        earlier_suffixes: Sequence[str] = (),
        change: pulumi.Input[str] | None = None,
        former: Former | None = None,
    ) -> VolumeRelease:
        """Stands between the volume's registration and the job, and keeps it until the job has released it.

        `change` is another value whenever the job changes (see `change`); one of a job's gates suffices to have it.
        """
        earlier = [pulumi.Alias(name=f"{self.name}-{earlier}") for earlier in earlier_suffixes]
        if former is not None:
            earlier.append(pulumi.Alias(name=f"{former.name}-{suffix}", parent=former.urn))
        return VolumeRelease(
            f"{self.name}-{suffix}",
            volume_id=volume["volume_id"],
            namespace=self.placement["namespace"],
            backend=volume["backend"],
            external_id=volume["external_id"],
            consumer_job_id=self.job_id,
            registration_id=volume["registration_id"],
            triggers=None if change is None else {"job": change, "restart": volume["restart_id"]},
            timeout_s=timeout_s,
            opts=pulumi.ResourceOptions(
                parent=self.parent,
                aliases=earlier,
                depends_on=[*self.claims, *([former.end] if former is not None else [])],
            ),
        )

    def only_gate(
        self,
        volume: RegisteredVolume,
        timeout_s: int,
        *,
        change: pulumi.Input[str] | None = None,
        former: Former | None = None,
    ) -> VolumeRelease:
        """Returns the gate of a job with one volume, another one for each volume.

        Were it one that is replaced, its deletion could follow from a replaced registration of the volume that the job
        leaves, while its successor, which hangs on another registration, is made: the engine's state would be invalid.
        """
        names = [volume.get("name"), volume.get("earlier_name")]
        suffixes = [*(f"release-{name}" for name in names if name), "volume-release"]
        return self.gate(suffixes[0], volume, timeout_s, earlier_suffixes=suffixes[1:], change=change, former=former)

    def change(self, spec: str, settings: Mapping[str, Any]) -> pulumi.Output[str]:
        """Tells one version of the job from another, by its job file and what is set in it besides its gates."""
        text = jobs.spec(spec, settings)

        def digest(known: Mapping[str, Any]) -> str:
            return hashlib.sha256(json.dumps([text, known], sort_keys=True).encode()).hexdigest()[:16]

        return pulumi.Output.all(**settings).apply(digest)

    @staticmethod
    def generation(gate: VolumeRelease, volume: RegisteredVolume) -> pulumi.Output[str]:
        """Returns what the job carries in its meta, so that it is restarted when the volume asks for it."""
        return pulumi.Output.all(gate.release_id, volume["restart_id"]).apply(lambda ids: " ".join(filter(None, ids)))

    def variable(
        self, items: pulumi.Input[Mapping[str, pulumi.Input[str]]], gates: Sequence[VolumeRelease]
    ) -> nomad.Variable:
        """Keeps the job's secrets. After its gates, so that one at another path comes when the old job has stopped."""
        job = (self.placement["namespace"], self.job_id)
        return private_variable(f"{self.name}-variable", job, items, self.parent, [*self.claims, *gates])

    def job(
        self,
        spec: str,
        variables: Mapping[str, Any],
        depends_on: Sequence[pulumi.Resource] = (),
        *,
        purged_by_gate: bool = False,
    ) -> nomad.Job:
        """Submits a job file with its variables, which may be outputs.

        A job that holds volumes is `purged_by_gate`: its deletion stops it, and the gate of the volume that is released
        last purges it. One that is purged while it runs takes its allocations out of Nomad's sight with it.
        """
        needs = [*self.claims, *depends_on]
        return submit(f"{self.name}-job", spec, variables, self.parent, needs, purge=not purged_by_gate)

    def health(
        self,
        job: nomad.Job,
        group: str,
        timeout_s: int,
        allocations: int = 1,
        serving: Sequence[str] = (),
    ) -> JobHealth:
        """Completes once that many allocations of the job's newest version run and pass their checks.

        At first it is enough that they run, while there is none of the jobs that are `serving`. What keeps one of the
        job's EBS volumes from it is looked for in EC2.
        """
        return JobHealth(
            f"{self.name}-health",
            job_id=self.job_id,
            namespace=self.placement["namespace"],
            group=group,
            allocations=allocations,
            serving=list(serving) or None,
            triggers={"job": job.modify_index},
            timeout_s=timeout_s,
            owner_id=self.claims[0].owner_id if self.claims else "",
            opts=pulumi.ResourceOptions(parent=self.parent),
        )
