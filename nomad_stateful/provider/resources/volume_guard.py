"""VolumeGuard: refuses, before anything is done, what would cost a volume its data."""

import secrets
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from nomad_stateful.ebs.ec2_client import AwsPlace
from nomad_stateful.ebs.snapshots import EbsSnapshots
from nomad_stateful.ebs.volumes import EbsVolumes, Volume
from nomad_stateful.errors import ProviderError
from nomad_stateful.plugin_server.plugin import Checked, CheckFailure, Diff, Props
from nomad_stateful.plugin_server.values import contains_unknown
from nomad_stateful.provider import volume_move
from nomad_stateful.provider.account import ResourceInAccount
from nomad_stateful.provider.declared import OnlyInState
from nomad_stateful.schema.volumes import VolumeGuardProperties
from nomad_stateful.waiting import Context


class VolumeGuard(OnlyInState, ResourceInAccount):
    """Remembers a volume's zone, size and origin; the volume depends on it, so that a refusal stops the volume too."""

    table = VolumeGuardProperties.table

    def __init__(
        self,
        volumes: Callable[[AwsPlace], EbsVolumes] = EbsVolumes,
        snapshots: Callable[[AwsPlace], EbsSnapshots] = EbsSnapshots,
    ) -> None:
        self._volumes = volumes
        self._snapshots = snapshots

    def check(self, ctx: Context, olds: Props, news: Props) -> Checked:
        inputs, failures = self.checked(news)
        if failures:
            return Checked(inputs, failures)
        refused = dict(_refusals(olds, inputs)) if olds else {}
        if not refused:
            return self._kept(olds, inputs, forget_origin=False)
        volume: Volume | None = None
        try:
            volume = self._volumes(self.place(olds)).guarded_by(olds["guardId"])
            if volume is None:  # its creation failed
                return self._kept(olds, inputs, forget_origin=not olds.get("leftGuardId"))
        except ProviderError as error:
            ctx.log("warning", f"{error}; it is assumed that volume {olds['volumeName']} exists")
        if volume_move.is_wanted(olds, inputs):
            return self._moved(ctx, olds, inputs, volume, refused)
        # EC2 may have made it otherwise than it was set: then a setting is corrected, and nothing is changed.
        has = {"encrypted": volume.encrypted, "kmsKeyId": volume.kms_key_id} if volume else {}
        so_already = {key for key, value in has.items() if value == inputs[key]}
        failures = [failure for key, failure in refused.items() if key not in so_already]
        return Checked(inputs, failures) if failures else Checked(_with_memory(olds, inputs, forget_origin=False))

    def _kept(self, olds: Props, inputs: Props, *, forget_origin: bool) -> Checked:
        """Raises ProviderError."""
        kept = _with_memory(olds, inputs, forget_origin=forget_origin)
        if (left := self._left(olds)) is None:
            return Checked(kept)
        snapshot = self._snapshots(self.place(olds)).find(kept["snapshotId"])
        return Checked(kept, [*volume_move.still_attached(kept, snapshot, left)])

    def _left(self, olds: Props) -> Volume | None:
        """Returns the volume that a move left which has not made another one yet. Raises ProviderError."""
        if not olds.get("leftGuardId"):
            return None
        volumes = self._volumes(self.place(olds))
        made = volumes.guarded_by(olds["guardId"])
        return volumes.guarded_by(olds["leftGuardId"]) if made is None or made.state == "error" else None

    def _moved(
        self, ctx: Context, olds: Props, inputs: Props, volume: Volume | None, refused: Mapping[str, CheckFailure]
    ) -> Checked:
        snapshots = self._snapshots(self.place(olds))
        failures = [one for key, one in refused.items() if key not in volume_move.SETTLED_BY_IT]
        failures += volume_move.failures(snapshots, olds, inputs, volume)
        if failures or volume is None:
            return Checked(inputs, failures)
        volume_move.tell(ctx, snapshots, olds, inputs, volume)
        return Checked(_with_memory(olds, inputs, forget_origin=True) | volume_move.begin(olds))

    def diff(self, ctx: Context, id: str, state: Props, old_inputs: Props, news: Props) -> Diff:
        """Compares with the defaults of what an earlier release did not have."""
        return super().diff(ctx, id, state, self.table.defaults | old_inputs, news)

    def create(self, ctx: Context, inputs: Props) -> tuple[str, Props]:
        return inputs["guardId"], inputs

    def update(self, ctx: Context, id: str, state: Props, old_inputs: Props, inputs: Props) -> Props:
        wanted = volume_move.is_wanted(state, inputs)
        left = self._volumes(self.place(state)).guarded_by(state["guardId"]) if wanted else self._left(state)
        volume_move.refuse_attached(inputs, left)
        return inputs


def final_snapshot(olds: Props, inputs: Props) -> Any:
    """Returns whether a snapshot is taken before deletion: as set, else of a volume that is, or was, protected."""
    if inputs["finalSnapshot"] is not None:
        return inputs["finalSnapshot"]
    # A protected volume has to be unprotected before it can be destroyed: that must not lose it the snapshot.
    return inputs["protect"] is True or bool(olds.get("finalSnapshot"))


def _with_memory(olds: Props, inputs: Props, *, forget_origin: bool) -> Props:
    """Returns the inputs with what later checks need: the guard's id, the snapshot restored from, the final one."""
    final = final_snapshot(olds, inputs)
    origin = inputs["snapshotId"]
    if origin == "" and not forget_origin:
        origin = olds.get("snapshotId", "")
    guard_id = inputs["guardId"]
    if guard_id is None or guard_id == "":
        guard_id = olds.get("guardId") or secrets.token_hex(8)
    left = inputs["leftGuardId"]
    if left is None or left == "":
        left = olds.get("leftGuardId", "")
    return inputs | {"guardId": guard_id, "snapshotId": origin, "finalSnapshot": final, "leftGuardId": left}


def _refusals(olds: Props, news: Props) -> Iterator[tuple[str, CheckFailure]]:
    """Yields what cannot be done to an existing volume by its key, each as key, value, rule and remedy."""
    name = news["volumeName"]
    for key, what in (("accountId", "account"), ("region", "region")):
        if olds.get(key) and _changed(olds, news, key):
            yield key, _elsewhere(olds, news, key, what)
    if _changed(olds, news, "zone"):
        remedy = f"Keep zone: {olds['zone']}. To have its data in {news['zone']}, {_to_zone(name, news['zone'])}"
        yield _refusal(news, "zone", f"EBS volumes cannot move, and this one is in {olds['zone']}", remedy)
    if _changed(olds, news, "sizeGib") and news["sizeGib"] < olds["sizeGib"]:
        remedy = (
            f"Keep sizeGib: {olds['sizeGib']} or more. A snapshot cannot be restored to a smaller volume either: for a "
            "smaller one give a new volume a new name and copy the data into it, for a database by a dump"
        )
        yield _refusal(news, "sizeGib", f"EBS volumes cannot shrink, and this one has {olds['sizeGib']} GiB", remedy)
    for key, rule in (
        (
            "encrypted",
            f"whether an EBS volume is encrypted is fixed at creation, here {_yaml(olds, 'encrypted')}",
        ),
        ("kmsKeyId", f"an EBS volume keeps the key it was made with, here {olds.get('kmsKeyId') or 'the default one'}"),
    ):
        if _changed(olds, news, key):
            remedy = (
                f"Change it back, or snapshot and restore: take a snapshot (`nomad-stateful snapshot {name}`) and "
                "give a new volume a new name with snapshotId: that snapshot's id, and this setting"
            )
            yield _refusal(news, key, rule, remedy)
    if news["snapshotId"] != "" and _changed(olds, news, "snapshotId"):
        rule = "a volume takes a snapshot's contents when it is made, and this one exists"
        remedy = "Change it back, and give a new volume a new name with this snapshotId"
        yield _refusal(news, "snapshotId", rule, remedy)


def _to_zone(name: str, zone: str) -> str:
    if name.endswith("]"):  # of a set, which is spread over zones
        return (
            f"snapshot and restore: take a snapshot (`nomad-stateful snapshot '{name}'`) and give a new volume "
            f"a new name with zone: {zone} and snapshotId: that snapshot's id"
        )
    return (
        f"run `nomad-stateful move {name} --zone {zone}`, which takes a snapshot and makes a new EBS volume "
        "from it: docs/volumes.md, Another zone"
    )


def _elsewhere(olds: Props, news: Props, key: str, what: str) -> CheckFailure:
    name, here = news["volumeName"], f"{what} {olds[key]}"
    return CheckFailure(
        "",
        f"the aws provider's {what} is {news[key] or 'not known'}: volume {name} is in {here}, and would be replaced "
        f"by an empty one. Use the credentials and the aws:region of {here} (AWS_PROFILE, "
        "aws:profile, aws:assumeRoles), and list it in aws:allowedAccountIds",
    )


def _changed(olds: Props, news: Props, key: str) -> bool:
    old, new = olds.get(key, VolumeGuardProperties.table.inputs[key].default), news[key]
    return old != new if not contains_unknown([old, new]) else False


_SETTINGS = {"kmsKeyId": "kmsKeyArn"}


def _refusal(news: Props, key: str, rule: str, remedy: str) -> tuple[str, CheckFailure]:
    path = f"volumes.{news['volumeName']}.{_SETTINGS.get(key, key)}"
    return key, CheckFailure("", f"{path} is {_yaml(news, key)}: {rule}. {remedy}")


def _yaml(props: Props, key: str) -> str:
    value = props.get(key)
    return str(value).lower() if isinstance(value, bool) else str(value or "not set")
