"""Stray attachments: volumes of a job attached where nothing claims them, which nothing else can mount meanwhile."""

from collections.abc import Callable, Iterator

from nomad_stateful.ebs.volumes import EbsVolumes, is_ebs_volume
from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad.consumer_job import ConsumerJob, volume_ids
from nomad_stateful.nomad.paths import volume_path
from nomad_stateful.recovery.plan import stray_plans
from nomad_stateful.recovery.volume_usage import VolumeUsage, inspect_volume
from nomad_stateful.waiting import Context


class StrayAttachments:
    """Finds stray attachments, and detaches those that cannot be in use. Never force-detaches."""

    def __init__(self, consumer: ConsumerJob, ebs: Callable[[], EbsVolumes]) -> None:
        """Takes a function, so that EC2's client is made only when there is an EBS volume to look at."""
        self._consumer = consumer
        self._ebs = ebs

    def release(self, ctx: Context) -> None:
        """Detaches what is safe to detach; logs a warning for what cannot be read or is refused."""
        try:
            for usage in self._volumes():
                detach_safe(ctx, self._ebs(), usage)
        except ProviderError as error:
            ctx.log(
                "warning", f"cannot tell whether a volume of {self._consumer.job_id} is attached elsewhere: {error}"
            )

    def lines(self) -> Iterator[str]:
        """Yields each stray attachment with the next step, for an error message."""
        try:
            for usage in self._volumes():
                for plan in stray_plans(usage):
                    yield f"{plan.problem}. Next: {plan.steps[0]}"
        except ProviderError as error:
            yield f"cannot tell whether a volume of it is attached elsewhere: {error}"

    def _volumes(self) -> Iterator[VolumeUsage]:
        api, namespace = self._consumer.api, self._consumer.namespace
        for volume_id in volume_ids(self._consumer.read() or {}):
            volume = api.find(volume_path(volume_id), namespace=namespace) or {}
            external_id = str(volume.get("ExternalID") or "")
            if is_ebs_volume(external_id):
                yield inspect_volume(api, namespace, volume_id, external_id, self._ebs())


def detach_safe(ctx: Context, ebs: EbsVolumes, usage: VolumeUsage) -> None:
    """Detaches the volume where nothing claims it and nothing can use it. Raises ProviderError."""
    for plan in stray_plans(usage):
        step = plan.steps[0]
        if step.action == "ec2-detach":
            ctx.log("warning", f"{plan.problem}. Detaching it: {step.why}")
            ebs.detach(usage.external_id, step.target)
