"""What registered and created CSI volumes have in common as resources."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.plugin_server.plugin import UNKNOWN, Checked, Diff, InitFailed, Props, ReadResult, ResourceType
from nomad_stateful.plugin_server.values import contains_unknown
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.nomad.config import Connection
from sandbox.standins.plugins.nomad.csi_fields import (
    COMPUTED,
    least_bytes,
    volume_changes,
    volume_failures,
    volume_outputs,
)
from sandbox.standins.plugins.nomad.csi_requests import find_volume
from sandbox.standins.plugins.nomad.inputs import Field, autoname, checked, is_autonamed, pick, plain, refreshed_inputs
from sandbox.standins.plugins.nomad.job_state import import_identity

_HEALTH = [
    *("controllersExpected", "controllersHealthy", "nodesExpected", "nodesHealthy", "schedulable", "capacity"),
    *("capacityMinBytes", "capacityMaxBytes", "topologies"),
]


class CsiResource(ResourceType):
    """A CSI volume in Nomad; subclasses say how it gets there and how it goes."""

    fields: Mapping[str, Field] = MappingProxyType({})
    forcing: frozenset[str] = frozenset()
    secret_outputs = frozenset({"secrets"})
    computed = COMPUTED

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    def api(self) -> NomadApi:
        return self._connection.api

    def put(self, ctx: Context, inputs: Props) -> None:
        """Creates or updates the volume in Nomad."""
        raise NotImplementedError

    def check(self, ctx: Context, olds: Props, news: Props) -> Checked:
        """Modes, sizes and topologies are validated here, so that a preview refuses what the server would."""
        inputs, failures = checked(self.fields, news, self.token)
        return Checked(autoname(ctx, olds, inputs), failures + volume_failures(inputs))

    def diff(self, ctx: Context, id: str, state: Props, old_inputs: Props, news: Props) -> Diff:
        """An explicit name makes a replacement delete first: the new volume has the old one's id."""
        changes = volume_changes(state, news, self.fields)
        kinds = {path: kind.as_replace() if self.forces(path, state, news) else kind for path, kind in changes.items()}
        replaces = sorted({path.split(".")[0].split("[")[0] for path, kind in kinds.items() if kind.replaces})
        return Diff(kinds, replaces, bool(replaces) and not is_autonamed(news))

    def preview_create(self, ctx: Context, inputs: Props) -> Props:
        """Everything Nomad and the plugin add is unknown."""
        planned: Props = plain(inputs)
        return planned | dict.fromkeys(self.computed, UNKNOWN)

    def preview_update(self, ctx: Context, id: str, state: Props, inputs: Props) -> Props:
        """Health and sizes may change with any registration; what the plugin is does not."""
        planned: Props = plain(inputs)
        return pick(state, self.computed) | planned | dict.fromkeys(_HEALTH, UNKNOWN)

    def create(self, ctx: Context, inputs: Props) -> tuple[str, Props]:
        """Retries until the plugin accepts the volume."""
        self.put(ctx, inputs)
        return inputs["volumeId"], self._written(ctx, inputs)

    def update(self, ctx: Context, id: str, state: Props, old_inputs: Props, inputs: Props) -> Props:
        """Puts the volume again; only what Nomad needs to know makes a request."""
        changed = set(volume_changes(state, inputs, self.fields)) - {"deregisterOnDestroy"}
        if changed or not state:
            self.put(ctx, inputs)
        return self._written(ctx, inputs)

    def read(self, ctx: Context, id: str, inputs: Props, state: Props) -> ReadResult | None:
        """The volume as Nomad has it; imported as `<id>@<namespace>`."""
        importing = not inputs and not state
        volume_id, namespace = import_identity(id) if importing else (id, str(state.get("namespace") or "default"))
        volume = find_volume(self.api, volume_id, namespace)
        if volume is None:
            return None
        known = {} if importing else pick(state, self.fields)
        outputs = volume_outputs(volume, known) | self.extra_outputs(volume)
        if importing:
            outputs |= {key: volume[name] for key, name in self.import_extras().items() if volume.get(name)}
        given = pick(outputs, self.fields) if importing else self._refreshed(inputs, outputs)
        return ReadResult(volume_id, given, outputs)

    def import_extras(self) -> dict[str, str]:
        """Further inputs that an import takes from Nomad's record: input name to API name."""
        return {"parameters": "Parameters"}

    def extra_outputs(self, volume: dict[str, Any]) -> Props:
        """Outputs that only this kind of volume has."""
        return {}

    def _refreshed(self, inputs: Props, outputs: Props) -> Props:
        """A size stays in the user's spelling, and capabilities in the user's order, where they are the same."""
        given = refreshed_inputs(inputs, outputs)
        same = [
            name
            for name in ("capacityMin", "capabilities")
            if name in inputs and not volume_changes(outputs, inputs, [name])
        ]
        return given | {name: inputs[name] for name in same}

    def forces(self, path: str, state: Props, news: Props) -> bool:
        """Whether a change at this path needs a new volume."""
        top = path.split(".", maxsplit=1)[0].split("[", maxsplit=1)[0]
        if top != "topologyRequest":
            return top in self.forcing
        return self.topology_change_forces(path)

    def topology_change_forces(self, path: str) -> bool:
        """Whether a change at this path of the topology request needs a new volume."""
        return ".segments" not in path

    def _written(self, ctx: Context, inputs: Props) -> Props:
        known = {key: value for key, value in plain(inputs).items() if not contains_unknown(value)}
        try:
            volume = find_volume(self.api, inputs["volumeId"], inputs.get("namespace") or "default")
            if volume is None:
                raise ProviderError(f"volume {inputs['volumeId']} disappeared right after it was written")
        except ProviderError as error:
            raise InitFailed(inputs["volumeId"], known, [str(error)], inputs) from None
        self._warn_of_size(ctx, inputs, volume.get("Capacity") or 0)
        return volume_outputs(volume, known) | self.extra_outputs(volume)

    @staticmethod
    def _warn_of_size(ctx: Context, inputs: Props, capacity: int) -> None:
        if least_bytes(inputs) > capacity:
            ctx.log(
                "warning", f"capacity out of requested range: {capacity} bytes, capacityMin is {inputs['capacityMin']}"
            )
