"""VolumeRelease: stands between a volume's consumer and its registration, and on destroy waits until it is released."""

import re
import secrets
from collections.abc import Callable, Sequence

from nomad_stateful.ebs.ec2_client import AwsPlace, Ec2Unavailable
from nomad_stateful.ebs.volumes import EbsVolumes, Volume
from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad import attaching, clients, consumer_job, group_members, volume_claims
from nomad_stateful.nomad.api import NomadApi, NomadError
from nomad_stateful.nomad.clients import Client
from nomad_stateful.nomad.commands import scope
from nomad_stateful.nomad.consumer_job import ConsumerJob, volume_ids
from nomad_stateful.nomad.group_members import MemberState
from nomad_stateful.nomad.paths import volume_path
from nomad_stateful.nomad.retry import RETRY_LIMIT_S
from nomad_stateful.nomad.volume_claims import Claim
from nomad_stateful.nomad.watching import watch
from nomad_stateful.plugin_server.plugin import CheckFailure, Diff, Props
from nomad_stateful.plugin_server.values import Unknown, contains_unknown
from nomad_stateful.provider import others
from nomad_stateful.provider.account import ResourceInAccount
from nomad_stateful.recovery import stray_attachments, volume_usage
from nomad_stateful.recovery.plan import recovery_plans
from nomad_stateful.recovery.volume_usage import VolumeUsage
from nomad_stateful.schema.volumes import VolumeReleaseProperties
from nomad_stateful.waiting import Backoff, Context, Pending, Progress, Stopwatch

EC2_POLL_S = 1.0
# Nomad looks at a controller every 30 s, and waits as long for its answer.
_CONTROLLERS_S = 90.0
# A detachment that Nomad asked for begins at once.
STRAY_S = 10.0
_EBS_ID = re.compile(r"vol-[0-9a-f]{8,32}")


class VolumeRelease(ResourceInAccount):
    """Its deletion waits until the volume is released. It never forces anything off.

    Before its consumer is started, and before it changes (`triggers`), it waits until Nomad attaches and detaches:
    while a controller is unhealthy, Nomad may skip both (nomad_stateful/nomad/controllers.py). Of a replication group a
    member stays as it is until the others are ONLINE.
    """

    table = VolumeReleaseProperties.table

    def __init__(
        self,
        api: Callable[[], NomadApi],
        ebs: Callable[[AwsPlace], EbsVolumes] = EbsVolumes,
        ask: Callable[[NomadApi, str, str, str], MemberState] = group_members.ask,
    ) -> None:
        self._api = api
        self._ebs = ebs
        self._ask = ask

    def refusals(self, ctx: Context, olds: Props, inputs: Props) -> list[CheckFailure]:
        return [*_external_id_failures(inputs), *_moved(olds, inputs)]

    def diff(self, ctx: Context, id: str, state: Props, old_inputs: Props, news: Props) -> Diff:
        """Has the old volume released before anything new is made, also while it is unknown which one comes next."""
        detailed = self.changes(old_inputs, news)
        if any(kind.replaces for kind in detailed.values()):
            self._warn_of_earlier_release(ctx, self.table.defaults | state)
        return Diff(detailed, delete_before_replace=True)

    def create(self, ctx: Context, inputs: Props) -> tuple[str, Props]:
        self._await_changeable(ctx, inputs)
        release_id = secrets.token_hex(8)
        return release_id, inputs | {"releaseId": release_id}

    def update(self, ctx: Context, id: str, state: Props, old_inputs: Props, inputs: Props) -> Props:
        if inputs.get("triggers", {}) != old_inputs.get("triggers", {}):
            self._await_changeable(ctx, inputs)
        return inputs | {"releaseId": state["releaseId"]}

    def _await_changeable(self, ctx: Context, inputs: Props) -> None:
        """Waits until the consumer can be stopped and started. Raises ProviderError at the deadline."""
        if not inputs.get("consumerJobId"):
            return
        limit_s = ctx.timeout_s or inputs["timeoutS"]
        progress = Progress(ctx, limit_s)
        lacks = self._unattachable(progress, inputs)
        if lacks:
            raise ProviderError(
                f"job {inputs['consumerJobId']} is left as it is: after {limit_s:.0f} s {'; '.join(lacks)}. Nomad may "
                "skip attaching and detaching while it knows an unhealthy controller, and detaches a volume that a "
                "node plugin could not unmount: a job that stops or starts then leaves its volume attached where "
                "nothing claims it, or loses it while it is mounted. See `nomad plugin status -verbose`, fix the cause "
                f"or restart that allocation (`nomad alloc restart{scope(inputs['namespace'])}`), and run the same "
                "command again"
            )
        others.await_online(progress, self._api(), inputs["namespace"], inputs["consumerJobId"], self._ask)

    def _unattachable(self, progress: Progress, wanted: Props) -> list[str]:
        api, namespace = self._api(), wanted["namespace"]
        job = ConsumerJob(api, namespace, wanted["consumerJobId"]).read() or {}
        volumes = attaching.registered(api, namespace, {wanted["volumeId"], *volume_ids(job)})
        return attaching.await_attachable(progress, api, volumes)

    def delete(self, ctx: Context, id: str, state: Props) -> None:
        wanted = self.table.defaults | state
        limit_s = ctx.timeout_s or wanted["timeoutS"]
        api = self._api()
        progress = Progress(ctx, limit_s)
        consumer = ConsumerJob(api, wanted["namespace"], wanted["consumerJobId"])
        stopped_before = bool(wanted["consumerJobId"]) and self._stop_user(ctx, consumer, wanted)
        if self._is_given_up(ctx, api, wanted):
            # Its registration, which goes next, takes the claims along: Nomad grants that once their jobs are stopped.
            return
        held = _await_no_claims(progress, api, wanted)
        if held:
            raise ProviderError(self._at_the_deadline(wanted, limit_s))
        if wanted["backend"] == "ebs":
            self._await_detached(progress, wanted)
        if stopped_before:
            # The last volume that is released takes the job's record with it.
            consumer.purge_if_ended()

    def _is_given_up(self, ctx: Context, api: NomadApi, wanted: Props) -> bool:
        """Returns whether an operator gave the volume up with its zone, so that nobody will detach it.

        Not while a client that claims it, or has it attached, answers: the zone is back. Raises NomadError.
        """
        if wanted["backend"] != "ebs":
            return False
        try:
            found = ctx.call(lambda: self._ebs(self.place(wanted)).state(wanted["externalId"]))
        except ProviderError:
            # What follows says it, with who holds the volume.
            return False
        if not found.given_up:
            return False
        name = f"volume {wanted['volumeId']} ({wanted['externalId']})"
        if there := ctx.call(lambda: _answering(api, wanted, found)):
            ctx.log(
                "warning",
                f"{name} is waited for, though it was abandoned with its zone at {found.given_up}: "
                f"{', '.join(map(str, there))}, which has it, answers",
            )
            return False
        ctx.log("warning", f"{name} is not waited for: it was abandoned with its zone at {found.given_up}")
        return True

    def _stop_user(self, ctx: Context, consumer: ConsumerJob, wanted: Props) -> bool:
        """Stops a job whose current version uses the volume; returns whether it was stopped already.

        A version that does not use the volume any more releases it by itself and goes on running. A job that runs is
        being replaced together with the volume; one that was stopped is no longer in the stack.
        """
        volume_id = wanted["volumeId"]
        job = consumer.read()
        if job is None or volume_id not in volume_ids(job):
            return False
        if job.get("Stop"):
            return True
        limit_s = min(_CONTROLLERS_S, ctx.timeout_s or wanted["timeoutS"])
        if lacks := self._unattachable(Progress(ctx, limit_s), wanted):
            ctx.log("warning", f"stopping job {consumer.job_id} though {'; '.join(lacks)}")
        consumer.stop(ctx, f"volume {volume_id}, which it uses, is being released")
        return False

    def _warn_of_earlier_release(self, ctx: Context, wanted: Props) -> None:
        """Says what to do where the job's state is of a release whose jobs cannot be planned together with this."""
        if not wanted["consumerJobId"]:
            return
        try:
            job = ConsumerJob(self._api(), wanted["namespace"], wanted["consumerJobId"]).read()
        except ProviderError:
            return
        if job is not None and consumer_job.is_of_earlier_release(job):
            ctx.log(
                "warning",
                f"job {wanted['consumerJobId']} was deployed by an earlier release of this program. If this ends in "
                "`Unset variable`, run `pulumi up` with unchanged settings first, then this change: docs/upgrades.md",
            )

    def _at_the_deadline(self, wanted: Props, limit_s: float) -> str:
        """Tells who holds the volume still, and what ends that."""
        ebs = self._ebs(self.place(wanted)) if wanted["backend"] == "ebs" else None
        namespace, volume_id = wanted["namespace"], wanted["volumeId"]
        try:
            usage = volume_usage.inspect_volume(self._api(), namespace, volume_id, wanted["externalId"], ebs)
        except NomadError as error:
            return f"{_headline(wanted, limit_s)}. Its holder cannot be read: {error}"
        return _deadline_message(wanted, limit_s, usage)

    def _await_detached(self, progress: Progress, wanted: Props) -> None:
        volumes = self._ebs(self.place(wanted))
        external_id, took, attached = wanted["externalId"], Stopwatch(), Stopwatch()
        backoff, answered = Backoff(EC2_POLL_S), False

        def look() -> Volume | Pending:
            nonlocal answered
            try:
                found = progress.ctx.call(lambda: volumes.state(external_id))
            except Ec2Unavailable as error:
                # Where it answered once, a later silence is waited for.
                if progress.left_s <= 0 or (not answered and took.seconds >= RETRY_LIMIT_S):
                    raise
                return Pending(f"{error}; asking again", again_s=backoff.next())
            answered = True
            backoff.reset()
            if found.is_free:
                return found
            if attached.seconds >= STRAY_S and progress.left_s > 0:
                self._release_stray(progress.ctx, wanted, volumes)
                attached.restart()
            return Pending(f"waiting until EC2 has {external_id} detached: it is {found}")

        if isinstance(progress.wait(look, EC2_POLL_S), Pending):
            raise ProviderError(self._at_the_deadline(wanted, progress.limit_s))

    def _release_stray(self, ctx: Context, wanted: Props, volumes: EbsVolumes) -> None:
        """Detaches the volume where Nomad freed the claim and asked for no detachment, if nothing there uses it."""
        namespace, volume_id, external_id = wanted["namespace"], wanted["volumeId"], wanted["externalId"]
        try:
            usage = volume_usage.inspect_volume(self._api(), namespace, volume_id, external_id, volumes)
            stray_attachments.detach_safe(ctx, volumes, usage)
        except ProviderError as error:
            ctx.log("warning", str(error))


def _external_id_failures(inputs: Props) -> list[CheckFailure]:
    value = inputs["externalId"]
    if (
        inputs["backend"] != "ebs"
        or isinstance(value, Unknown)
        or (isinstance(value, str) and _EBS_ID.fullmatch(value))
    ):
        return []
    rule = "backend ebs waits until EC2 has this volume detached, so it must be an EBS volume's id"
    remedy = 'Give the volume\'s id (vol-0123456789abcdef0), or backend "none" for storage that is not EBS'
    return [CheckFailure("externalId", f"externalId is {value!r}: {rule}. {remedy}")]


def _moved(olds: Props, inputs: Props) -> list[CheckFailure]:
    """Refuses another account or region, where the volume would count as detached."""
    if inputs["backend"] != "ebs" or contains_unknown(inputs["externalId"]):
        return []
    if olds.get("externalId") != inputs["externalId"]:
        return []
    return [
        CheckFailure(
            "",
            f"the aws provider's {what} is {inputs[key] or 'not known'}: {inputs['externalId']} is in {what} "
            f"{olds[key]}. Use the credentials and the aws:region of {what} {olds[key]} (AWS_PROFILE, "
            "aws:profile, aws:assumeRoles)",
        )
        for key, what in (("accountId", "account"), ("region", "region"))
        if olds.get(key) and not contains_unknown(inputs[key]) and olds[key] != inputs[key]
    ]


def _answering(api: NomadApi, wanted: Props, found: Volume) -> list[Client]:
    """Returns the clients that answer Nomad and claim the volume, or have it attached. Raises NomadError."""
    held = volume_claims.claims(api.find(volume_path(wanted["volumeId"]), namespace=wanted["namespace"]))
    claiming, having = {one.node_id for one in held}, {one.instance_id for one in found.attachments}
    up = clients.read(api, [one for one in clients.listed(api) if one.is_up])
    return [one for one in up if one.id in claiming or one.instance_id in having]


def _await_no_claims(progress: Progress, api: NomadApi, wanted: Props) -> Sequence[Claim]:
    """Waits for the last claim to go; returns the claims that are left at the deadline."""
    held: Sequence[Claim] = []
    for volume in watch(progress, api, volume_path(wanted["volumeId"]), namespace=wanted["namespace"]):
        held = volume_claims.claims(volume)
        if not held:
            return []
        progress.report(f"waiting until volume {wanted['volumeId']} is released by {', '.join(map(str, held))}")
    return held


def _headline(wanted: Props, limit_s: float) -> str:
    where = f"volume {wanted['volumeId']} (namespace {wanted['namespace']})"
    return f"{where} is still in use after {limit_s:.0f} s; nothing was forced"


def _deadline_message(wanted: Props, limit_s: float, usage: VolumeUsage) -> str:
    volume_id, namespace = wanted["volumeId"], wanted["namespace"]
    lines = [_headline(wanted, limit_s), *(f"  {line}" for line in usage.lines())]
    steps = [step for plan in recovery_plans(usage, wanted_free=True) for step in plan.steps]
    lines += [f"Next: {step}" for step in dict.fromkeys(steps)]
    lines.append(
        f"Then run the same command again, once `nomad volume status -namespace {namespace} {volume_id}` shows no "
        "allocations; a consumer that stops slowly needs a larger timeoutS"
    )
    return "\n".join(lines)
