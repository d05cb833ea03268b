"""VolumeProtection: what has to go before a volume can, and takes its final snapshot when it does."""

# ruff: noqa: A002, ARG002 - the signatures are the interface

from __future__ import annotations

import time
from collections.abc import Callable

from provider import validation
from provider.ec2_client import AwsPlace
from provider.guarded_volumes import GuardedVolumes
from provider.rpc.plugin import Checked, Context, Props, ProviderError, ReadResult, ResourceType
from provider.watching import Progress

POLL_S = 1.0
_DEFAULTS: Props = {"finalSnapshot": True, "region": "", "accountId": "", "awsConfig": "", "timeoutS": 3600}
_INPUTS = frozenset(_DEFAULTS) | {"volumeName", "volumeId"}


class VolumeProtection(ResourceType):
    """Depends on the volume, so it is deleted before it; what uses the volume depends on this."""

    token = "nomad-csi:index:VolumeProtection"  # noqa: S105 - a type's name
    replace_on = frozenset({"volumeId"})

    def __init__(self, volumes: Callable[[AwsPlace], GuardedVolumes] = GuardedVolumes) -> None:
        self._volumes = volumes

    def check(self, ctx: Context, olds: Props, news: Props) -> Checked:
        inputs = _DEFAULTS | news
        failures = [
            *validation.unknown_keys(news, _INPUTS),
            *validation.volume_name(inputs, "volumeName"),
            *validation.name(inputs, "volumeId", "vol-0123456789abcdef0"),
            *validation.aws_account(inputs, "accountId"),
            *validation.whole_number(inputs, "timeoutS", 1, 86400, "It is in seconds; 3600 is the default"),
        ]
        return Checked(inputs, failures)

    def create(self, ctx: Context, inputs: Props) -> tuple[str, Props]:
        return inputs["volumeId"], inputs

    def update(self, ctx: Context, id: str, state: Props, old_inputs: Props, inputs: Props) -> Props:
        return inputs

    def read(self, ctx: Context, id: str, inputs: Props, state: Props) -> ReadResult | None:
        if not state:
            raise ProviderError("a VolumeProtection cannot be imported: it is nothing in AWS. Create a new one")
        return ReadResult(id, inputs, state)

    def delete(self, ctx: Context, id: str, state: Props) -> None:
        """Takes the final snapshot; one that an interrupted deletion began is waited for instead of taking another."""
        if not state["finalSnapshot"]:
            return
        name, volume_id = state["volumeName"], state["volumeId"]
        volumes = self._volumes(AwsPlace.of(state))
        snapshot_id = ctx.call(lambda: volumes.final_snapshot(volume_id, name))
        if not snapshot_id:
            ctx.log("warning", f"volume {name} ({volume_id}) is gone already: there is nothing to take a snapshot of")
            return
        limit_s = ctx.timeout_s or state["timeoutS"]
        deadline = time.monotonic() + limit_s
        progress = Progress(ctx, limit_s)
        while (copied := ctx.call(lambda: volumes.snapshot_progress(snapshot_id))) != "completed":
            if time.monotonic() >= deadline:
                raise ProviderError(
                    f"final snapshot {snapshot_id} of volume {name} is not complete after {limit_s:.0f} s ({copied}); "
                    "the volume was not deleted. Run the same command again: it waits for this snapshot"
                )
            progress.report(f"waiting for final snapshot {snapshot_id} of volume {name}: {copied}")
            ctx.wait(POLL_S)
        ctx.log(
            "info",
            f"the contents of volume {name} are in snapshot {snapshot_id}; the volume may go. To restore them, give a "
            f"volume snapshotId: {snapshot_id}",
        )
