"""Volumes of a job that are attached where nothing claims them: nothing else gets them until they are detached."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import quote

from nomad_stateful.ebs.attachment import EbsVolumes
from nomad_stateful.nomad.api import NomadNotFound
from nomad_stateful.nomad.consumer_job import ConsumerJob, volume_ids
from nomad_stateful.plugin_server.plugin import Context, ProviderError
from nomad_stateful.recovery import volume_holders
from nomad_stateful.recovery.volume_holders import Holders
from nomad_stateful.recovery.volume_way_out import strays


class StrayAttachments:
    """Finds them, and detaches those that cannot be in use. Nothing is forced."""

    def __init__(self, consumer: ConsumerJob, ebs: Callable[[], EbsVolumes]) -> None:
        """EC2's client is made when an EBS volume is looked at."""
        self._consumer = consumer
        self._ebs = ebs

    def release(self, ctx: Context) -> None:
        """Detaches what is safe to detach; what cannot be looked at or is refused is a warning."""
        try:
            for holders in self._looked_at():
                detach_safe(ctx, self._ebs(), holders)
        except ProviderError as error:
            ctx.log(
                "warning", f"whether a volume of {self._consumer.job_id} is attached elsewhere is not known: {error}"
            )

    def lines(self) -> Iterator[str]:
        """What is attached where nothing claims it, and the way out, for an error message."""
        try:
            for holders in self._looked_at():
                for way in strays(holders):
                    yield f"{way.problem}. Next: {way.steps[0]}"
        except ProviderError as error:
            yield f"whether a volume of it is attached elsewhere is not known: {error}"

    def _looked_at(self) -> Iterator[Holders]:
        api, namespace = self._consumer.api, self._consumer.namespace
        for volume_id in volume_ids(self._consumer.read() or {}):
            try:
                volume = api.get(f"volume/csi/{quote(volume_id, safe='')}", namespace=namespace)
            except NomadNotFound:
                continue
            external_id = str(volume.get("ExternalID") or "")
            if not external_id.startswith("vol-"):
                continue
            yield volume_holders.look(api, namespace, volume_id, external_id, self._ebs())


def detach_safe(ctx: Context, ebs: EbsVolumes, holders: Holders) -> None:
    """Detaches the volume where nothing claims it and nothing can use it. Raises ProviderError."""
    for way in strays(holders):
        step = way.steps[0]
        if step.action == "ec2-detach":
            ctx.log("warning", f"{way.problem}. Detaching it: {step.why}")
            ebs.detach(holders.external_id, step.target)
