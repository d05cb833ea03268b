"""VolumeProtection: stands between a volume and its registration; it goes before the volume, with a final snapshot."""

from collections.abc import Callable

from nomad_stateful.ebs.ec2_client import AwsPlace, Ec2Unavailable, refuse_another_account
from nomad_stateful.ebs.snapshots import EbsSnapshots
from nomad_stateful.ebs.tags import FINAL_TAG, SNAPSHOTS_TAG, STACK_TAG, of_snapshot
from nomad_stateful.ebs.volumes import EbsVolumes
from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.paths import volume_path
from nomad_stateful.plugin_server.plugin import UNKNOWN, Checked, CheckFailure, Diff, Props, ReadResult
from nomad_stateful.plugin_server.values import Unknown, contains_unknown
from nomad_stateful.provider.account import ResourceInAccount
from nomad_stateful.provider.kept_file_system import KeptFileSystem, grows, restart_id
from nomad_stateful.schema.volumes import VolumeProtectionProperties
from nomad_stateful.waiting import Context, Pending, Progress

_ONCE = ("earlierSizeGib", "earlierRestartId")
_POLL_S = 1.0
_MODIFIED_WITHIN_S = 600


class VolumeProtection(ResourceInAccount):
    """Depends on the volume, so it is deleted before it; what uses the volume depends on this.

    Of a volume that Pulumi makes and registers (`registeredIn`) it keeps the file system, too.
    """

    table = VolumeProtectionProperties.table
    why_no_import = "it is nothing in AWS"

    def __init__(
        self,
        volumes: Callable[[AwsPlace], EbsVolumes] = EbsVolumes,
        api: Callable[[], NomadApi] = NomadApi.from_env,
        snapshots: Callable[[AwsPlace], EbsSnapshots] = EbsSnapshots,
    ) -> None:
        self._volumes = volumes
        self._snapshots = snapshots
        self._api = api
        self._file_system = KeptFileSystem(api)

    def check(self, ctx: Context, olds: Props, news: Props) -> Checked:
        checked = super().check(ctx, olds, news)
        if olds.get("volumeId") and olds["volumeId"] == checked.inputs["volumeId"]:
            # The same volume is where it was, whoever asks now; an account that nothing has proved is not remembered.
            for key in ("region", "accountId"):
                checked.inputs[key] = news.get(key) or olds.get(key, "")
        # What came with contents, also where the settings name its snapshot no more.
        if olds.get("hasContents"):
            checked.inputs["hasContents"] = True
        return checked

    def refusals(self, ctx: Context, olds: Props, inputs: Props) -> list[CheckFailure]:
        failures = self._replaced(ctx, olds, inputs)
        if olds and not contains_unknown(inputs["registeredIn"]) and inputs["registeredIn"]:
            failures += self._file_system.refusals(ctx, olds, inputs)
        return failures

    def _replaced(self, ctx: Context, olds: Props, inputs: Props) -> list[CheckFailure]:
        """Refuses that another volume takes the place of one that exists: its id is another, or not known yet."""
        old, name = olds.get("volumeId"), inputs["volumeName"]
        if olds.get("leaving") and inputs["hasContents"] is True:
            return []  # VolumeGuard has looked at what takes its place
        if not old or (not isinstance(inputs["volumeId"], Unknown) and inputs["volumeId"] == old):
            return []
        try:
            if not self._exists(olds):
                return []
        except ProviderError as error:
            ctx.log("warning", f"{error}; it is assumed that volume {old} exists")
        made = "the nomad:index/csiVolume:CsiVolume" if olds.get("namespace") else "the aws:ebs/volume:Volume"
        reason = (
            f"volume {name} is {old}, which would be replaced by an empty one and deleted, with its data. "
            f"`pulumi preview --diff` shows which property of {made} causes that: undo it. "
            f"For a new volume with these contents take a snapshot (`nomad-stateful snapshot {name}`) and give a "
            "volume of a new name snapshotId: that snapshot's id. To restore a volume that a refresh with other "
            "credentials removed from the state: `pulumi import` (docs/volumes.md, The account of a volume)"
        )
        return [CheckFailure("", reason)]

    def _exists(self, olds: Props) -> bool:
        """Tells whether there still is the volume: where its driver made it, Nomad knows it for as long."""
        if not olds.get("namespace"):
            return self._volumes(self.place(olds)).find(olds["volumeId"]) is not None
        found = self._api().find(volume_path(olds["volumeName"]), namespace=olds["namespace"])
        return found is not None and bool(found.get("ExternalID") == olds["volumeId"])

    def diff(self, ctx: Context, id: str, state: Props, old_inputs: Props, news: Props) -> Diff:
        """Compares with the defaults of what an earlier release did not have; what that knew counts once."""
        detailed = self.changes(self.table.defaults | old_inputs, news)
        return Diff({key: kind for key, kind in detailed.items() if key not in _ONCE})

    def create(self, ctx: Context, inputs: Props) -> tuple[str, Props]:
        return inputs["volumeId"], inputs | {"restartId": self._file_system.begin(ctx, inputs)}

    def preview_update(self, ctx: Context, id: str, state: Props, inputs: Props) -> Props:
        restarts = self._file_system.may_restart(state, inputs)
        return inputs | {"restartId": UNKNOWN if restarts else restart_id(state, inputs)}

    def update(self, ctx: Context, id: str, state: Props, old_inputs: Props, inputs: Props) -> Props:
        if grows(state, inputs):
            self._await_modified(ctx, inputs)
        return inputs | {"restartId": self._file_system.follow(ctx, state, inputs)}

    def _await_modified(self, ctx: Context, inputs: Props) -> None:
        """Waits until the EBS volume has its new size: EC2 attaches none that it is still modifying."""
        volume_id, volumes = inputs["volumeId"], self._volumes(self.place(inputs))

        def look() -> str | Pending:
            what = f"waiting until EC2 has changed the size of {volume_id} to {inputs['sizeGib']} GiB"
            try:
                state = ctx.call(lambda: volumes.modification(volume_id))
            except Ec2Unavailable as error:
                return Pending(what, str(error))
            return Pending(what) if state == "modifying" else state

        found = Progress(ctx, _MODIFIED_WITHIN_S).wait(look, _POLL_S)
        if isinstance(found, Pending):
            raise ProviderError(
                f"{found}: not after {_MODIFIED_WITHIN_S} s. Once `aws ec2 describe-volumes-modifications --volume-ids "
                f"{volume_id}` does not say modifying any more, run `pulumi up --refresh`"
            )
        if found == "failed":
            raise ProviderError(
                f"EC2 could not change the size of {volume_id} to {inputs['sizeGib']} GiB: "
                f"`aws ec2 describe-volumes-modifications --volume-ids {volume_id}` shows why"
            )

    def read(self, ctx: Context, id: str, inputs: Props, state: Props) -> ReadResult | None:
        kept = super().read(ctx, id, inputs, state)
        if not state.get("namespace"):
            # A refresh by another account takes the volume for gone: the update that may follow it must not begin.
            refuse_another_account(self.place(state), f"volume {state['volumeName']} ({state['volumeId']})")
        return kept

    def delete(self, ctx: Context, id: str, state: Props) -> None:
        """Refuses it for a protected volume, leaves one that moved, and takes any other one's final snapshot."""
        name, volume_id = state["volumeName"], state["volumeId"]
        if state.get("protect"):
            raise ProviderError(
                f"volumes.{name}.protect was true in the last `pulumi up`: volume {name} ({volume_id}) is not deleted, "
                "whatever the engine was told (--ignore-protect, `pulumi state unprotect`). `pulumi up --refresh` "
                "restores what was stopped. To delete it set protect: false on it, run `pulumi up`, then destroy"
            )
        if state.get("leaving"):
            self._leave(ctx, state)
        elif state["finalSnapshot"]:
            self._take_final_snapshot(ctx, state)
        elif state.get("namespace"):
            ctx.log("warning", f"volume {name} ({volume_id}) is deleted without a snapshot, by its driver")

    def _take_final_snapshot(self, ctx: Context, state: Props) -> None:
        """Takes a new one each time: there may be writes after a deletion that did not end."""
        name, volume_id, place = state["volumeName"], state["volumeId"], self.place(state)
        snapshots, progress = self._snapshots(place), Progress(ctx, ctx.timeout_s or state["timeoutS"])
        remedy = (
            f"Volume {name} was not deleted. Run the same command again: it waits for this snapshot, and then takes "
            "one of what changed since"
        )
        found = ctx.call(lambda: snapshots.final_of(volume_id))
        earlier = ", ".join(sorted(one.id for one in found))
        # What is being copied need not be copied twice, and EC2 allows few at a time.
        for one in found:
            if not one.is_complete:
                snapshots.await_complete(progress, one.id, remedy, "earlier snapshot")
        volume = ctx.call(lambda: self._volumes(place).find(volume_id))
        if volume is None:
            left = f"; its earlier contents are in {earlier}" if earlier else ""
            ctx.log("warning", f"volume {name} ({volume_id}) is gone already: nothing to take a snapshot of{left}")
            return
        text, own = f"{name} ({volume_id}) before it was deleted", of_snapshot(volume.tags) | {"Name": name}
        snapshot_id = ctx.call(lambda: snapshots.begin(volume_id, text, own | {FINAL_TAG: volume_id}))
        snapshots.await_complete(progress, snapshot_id, remedy, "final snapshot")
        ctx.log(
            "info",
            f"the contents of volume {name} are in snapshot {snapshot_id}; the volume can be deleted. To restore them, "
            f"give a volume snapshotId: {snapshot_id}",
        )
        if earlier:
            ctx.log("info", f"earlier snapshots, of interrupted deletions, are {earlier}")

    def _leave(self, ctx: Context, state: Props) -> None:
        """Leaves the volume in AWS; where EC2 does not answer that is said, since its zone may be lost."""
        name, volume_id = state["volumeName"], state["volumeId"]
        try:
            ctx.call(lambda: self._volumes(self.place(state)).leave(volume_id, name))
        except ProviderError as error:
            keys = f"Key={STACK_TAG} Key={SNAPSHOTS_TAG}"
            ctx.log(
                "warning",
                f"{error}. EBS volume {volume_id} keeps the stack's tags. Remove them, so that it does not count as "
                f"one of its volumes: `aws ec2 delete-tags --resources {volume_id} --tags {keys}`",
            )
        ctx.log("info", f"EBS volume {volume_id} stays in AWS: the volume {name} before its move")
