"""VolumeGrowth: after a volume has grown, has its file system grow too, mounted or by a restart of its consumer."""

from collections.abc import Callable

from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.plugin_server.plugin import UNKNOWN, Props
from nomad_stateful.provider.declared import DeclaredResource, OnlyInState
from nomad_stateful.provider.file_system_growth import FileSystemGrowth
from nomad_stateful.schema.volumes import VolumeGrowthProperties
from nomad_stateful.waiting import Context


class VolumeGrowth(OnlyInState, DeclaredResource):
    """Stands between a volume's registration and its consumer, which restarts when `restartId` changes."""

    table = VolumeGrowthProperties.table

    def __init__(self, api: Callable[[], NomadApi]) -> None:
        self._file_system = FileSystemGrowth(api)

    def create(self, ctx: Context, inputs: Props) -> tuple[str, Props]:
        """Grows a volume that is in use, which may be behind; one that nobody has mounted grows when it is mounted."""
        growth_id = f"{inputs['namespace']}/{inputs['volumeId']}"
        return growth_id, inputs | {"restartId": self._file_system.grow(ctx, inputs, restart_id="", quiet=True)}

    def preview_update(self, ctx: Context, id: str, state: Props, inputs: Props) -> Props:
        restarts = inputs["sizeGib"] != state["sizeGib"] and self._file_system.may_restart(inputs)
        return inputs | {"restartId": UNKNOWN if restarts else state["restartId"]}

    def update(self, ctx: Context, id: str, state: Props, old_inputs: Props, inputs: Props) -> Props:
        restart_id = state["restartId"]
        if inputs["sizeGib"] != state["sizeGib"]:
            restart_id = self._file_system.grow(ctx, inputs, restart_id)
        return inputs | {"restartId": restart_id}
