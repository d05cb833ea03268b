"""What a drill makes beside its job: a namespace, a lock, an EBS volume; and the removal of all of it."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

from nomad_stateful.drivers.ebs import MANAGED_TAG, MANAGED_TAG_VALUE
from nomad_stateful.ebs.ec2_client import AwsPlace
from nomad_stateful.ebs.snapshots import EbsSnapshots
from nomad_stateful.ebs.tags import AS_OF_TAG, DRILL_TAG, RESTORED_TAG, STACK_TAG
from nomad_stateful.ebs.volumes import EbsVolumes
from nomad_stateful.nomad.api import NomadApi, NomadApiError
from nomad_stateful.nomad.consumer_job import ConsumerJob
from nomad_stateful.nomad.paths import job_path, volume_path
from nomad_stateful.nomad.running_job import ENDED, allocations
from nomad_stateful.nomad.volume_claims import claims
from nomad_stateful.operate.cluster import wait_for
from nomad_stateful.operate.drill.model import DrillError, Json, Scratch, Target
from nomad_stateful.operate.drill.report import Report
from nomad_stateful.operate.progress import CONTEXT
from nomad_stateful.waiting import Progress, Stopwatch

_MADE_TIMEOUT_S = 600.0
_DETACH_AFTER_S = 30.0
_REMOVED_TIMEOUT_S = 180.0
_MADE = {"made-by": "nomad-stateful drill"}


def exists(nomad: NomadApi, namespace: str) -> bool:
    """Returns whether the namespace is there and the token may do something in it. Raises NomadError."""
    return _found(nomad, namespace) is not None


def _found(nomad: NomadApi, namespace: str) -> Json | None:
    try:
        found: Json | None = nomad.find(f"namespace/{namespace}")
    except NomadApiError as error:
        # A token without any capability in it does not learn whether it is there.
        if error.status != 403:
            raise
        return None
    return found


@contextmanager
def provided(nomad: NomadApi, namespace: str) -> Iterator[None]:
    """A context in which the namespace exists; one that a drill made is removed with the last drill in it.

    Raises DrillError where it is missing and the token may not make it, which takes a management token.
    """
    if not exists(nomad, namespace):
        try:
            nomad.put(
                f"namespace/{namespace}", {"Name": namespace, "Description": "Restore drills", "Meta": dict(_MADE)}
            )
        except NomadApiError as error:
            if error.status != 403:
                raise
            raise DrillError(
                f"there is no namespace {namespace} that this token may use, and only a management token can make one: "
                f"run `nomad namespace apply -description 'Restore drills' {namespace}` with that, and give the "
                "operator's policy its block of nomad_stateful/operate/nomad-policy.hcl; or name another with "
                "--namespace"
            ) from error
    try:
        yield
    finally:
        found = _found(nomad, namespace) or {}
        if (found.get("Meta") or {}) == _MADE:
            # Another drill may be in it, and then removes it.
            with suppress(NomadApiError):
                nomad.delete(f"namespace/{namespace}")


def create(place: AwsPlace, target: Target, scratch: Scratch) -> str:
    """Makes the scratch volume, as fast as the live one, waits until it is there, and returns its id.

    An empty one is encrypted as the live one is.
    """
    own = {
        "Name": target.id,
        # By this tag the driver may attach it; without the stack's tags neither schedules nor `adopt` know it.
        MANAGED_TAG: MANAGED_TAG_VALUE,
        DRILL_TAG: target.tag,
    }
    return make_like(place, target.volume_id, target.zone, own, scratch)


def make_like(place: AwsPlace, live_id: str, zone: str, own: Mapping[str, str], scratch: Scratch) -> str:
    """Makes a volume like a live one in a zone, with tags of its own, waits until it is there, and returns its id.

    Raises DrillError where EC2 cannot make it, TimedOutError and ProviderError.
    """
    volumes = EbsVolumes(place)
    live = volumes.find(live_id)
    volume_id = volumes.create_like(live, zone, own, snapshot_id=scratch.snapshot_id, size_gib=scratch.size_gib)

    def available() -> bool:
        # It may not be listed yet.
        volume = volumes.named([volume_id]).get(volume_id)
        if volume is not None and volume.state == "error":
            raise DrillError(
                f"EC2 could not make {volume_id} ({scratch}): most often the caller may not use its KMS key "
                "(kms:CreateGrant, kms:Decrypt, kms:GenerateDataKeyWithoutPlaintext)"
            )
        return volume is not None and volume.state == "available"

    wait_for(f"{volume_id} is available", available, _MADE_TIMEOUT_S, f"See `aws ec2 describe-volumes {volume_id}`.")
    return volume_id


def keep_snapshot(place: AwsPlace, target: Target, report: Report, volume_id: str, timeout_s: float) -> None:
    """Takes a snapshot of a scratch volume that nothing has attached, notes it, and waits until it is complete.

    Raises ProviderError where it fails, or takes longer.
    """
    moment = report.to or report.started
    restored = f"{moment:%Y-%m-%dT%H:%M:%SZ}"
    # Not the volume's name: it is no snapshot of the live volume.
    own = {
        "Name": f"{target.volume} as of {restored}",
        STACK_TAG: target.stack,
        RESTORED_TAG: target.volume_id,
        AS_OF_TAG: moment.isoformat(),
    }
    snapshots = EbsSnapshots(place)
    report.kept = snapshots.begin(volume_id, f"{target.tag} as of {restored}", own)
    remedy = (
        f"EC2 goes on with it: `aws ec2 wait snapshot-completed --snapshot-ids {report.kept}`, or a longer --timeout"
    )
    snapshots.await_complete(Progress(CONTEXT, timeout_s), report.kept, remedy)


def left_over(place: AwsPlace, target: Target) -> list[str]:
    """Returns the EBS volumes of this volume's drills."""
    return [one.id for one in EbsVolumes(place).tagged({DRILL_TAG: target.tag})]


def await_detached(place: AwsPlace, volume_id: str, timeout_s: float) -> None:
    """Waits until nothing has a scratch volume attached; asks EC2 to detach it where Nomad has not.

    Raises TimedOutError. Never by force: a detachment waits for the unmount.
    """
    volumes, attached, asked = EbsVolumes(place), Stopwatch(), False

    def free() -> bool:
        nonlocal asked
        volume = volumes.state(volume_id)
        if volume.is_free or volume.state == "error":
            return True
        found = [one for one in volume.attachments if one.state == "attached"]
        if found and not asked and attached.seconds >= _DETACH_AFTER_S:
            volumes.detach(volume_id, found[0].instance_id)
            asked = True
        return False

    wait_for(f"{volume_id} is detached", free, timeout_s, "Something on its instance still has it mounted (`findmnt`).")


def delete(place: AwsPlace, volume_id: str) -> None:
    """Deletes a scratch volume, where it is not gone. Raises DrillError for any other volume, and ProviderError."""
    volumes = EbsVolumes(place)
    volume = volumes.find(volume_id)
    if volume is None:
        return
    if DRILL_TAG not in volume.tags or STACK_TAG in volume.tags:
        raise DrillError(f"{volume_id} does not have the tags of a drill's volume: it is not deleted")
    volumes.delete(volume_id)


def variable_path(target: Target) -> str:
    """Returns where the drill's password is: the job alone may read it."""
    return f"nomad/jobs/{target.id}"


def remove(nomad: NomadApi, place: AwsPlace, target: Target, keep: Callable[[str], None] | None = None) -> list[str]:
    """Removes job, password, registration and EBS volumes, in the order that detaches before it deletes.

    `keep` is called with each EBS volume that is detached, before it is deleted.

    Returns what there was. Raises OperateError and ProviderError; then the rest is still there.
    """
    removed = [*_job(nomad, target), *_variable(nomad, target)]
    registered = nomad.find(volume_path(target.id), namespace=target.namespace) is not None
    if registered:
        _await_claims(nomad, target)
    volumes = left_over(place, target)
    for volume_id in volumes:
        await_detached(place, volume_id, _REMOVED_TIMEOUT_S)
    if registered:
        # While it is registered, Nomad detaches it.
        nomad.delete(volume_path(target.id), namespace=target.namespace)
        removed.append(f"registration {target.id}")
    for volume_id in volumes:
        if keep is not None:
            keep(volume_id)
        delete(place, volume_id)
        removed.append(f"EBS volume {volume_id}")
    return removed


def _job(nomad: NomadApi, target: Target) -> list[str]:
    """Stops the job, and purges it once Nomad has evaluated it and its tasks have ended."""
    path, namespace = job_path(target.id), target.namespace
    if nomad.find(path, namespace=namespace) is None:
        return []
    nomad.delete(path, namespace=namespace)

    def ended() -> bool:
        evaluations = nomad.get(f"{path}/evaluations", namespace=namespace) or []
        found = allocations(nomad, target.id, namespace)
        busy = any(one["Status"] == "pending" for one in evaluations)
        return not busy and all(one["ClientStatus"] in ENDED for one in found)

    remedy = f"See `nomad job status -namespace {target.namespace} {target.id}`."
    wait_for(f"job {target.id} ends", ended, _REMOVED_TIMEOUT_S, remedy)
    job = ConsumerJob(nomad, target.namespace, target.id)
    wait_for(f"job {target.id} releases its volume", job.purge_if_ended, _REMOVED_TIMEOUT_S, remedy)
    return [f"job {target.id}"]


def _variable(nomad: NomadApi, target: Target) -> list[str]:
    path = f"var/{variable_path(target)}"
    if nomad.find(path, namespace=target.namespace) is None:
        return []
    nomad.delete(path, namespace=target.namespace)
    return ["its variable"]


def _await_claims(nomad: NomadApi, target: Target) -> None:
    wait_for(
        f"volume {target.id} is released",
        lambda: not claims(nomad.find(volume_path(target.id), namespace=target.namespace)),
        _REMOVED_TIMEOUT_S,
        f"See `nomad volume status -namespace {target.namespace} {target.id}`, and docs/runbook.md.",
    )
