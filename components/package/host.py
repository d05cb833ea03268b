"""Makes the components for Pulumi programs in every language."""

import asyncio
import json
import threading
from collections.abc import Iterable
from functools import cache
from typing import Any

import pulumi
from pulumi.provider.experimental.analyzer import PropertyDefinition, PropertyType
from pulumi.provider.experimental.component import ComponentProvider
from pulumi.provider.experimental.schema import generate_schema
from pulumi.provider.provider import ConstructResult
from pulumi.provider.server import ProviderServicer

from nomad_stateful.components.component_type import earlier_type
from nomad_stateful.components.container import Container
from nomad_stateful.components.csi_plugin import CsiPlugin
from nomad_stateful.components.csi_volume import CsiVolume
from nomad_stateful.components.csi_volumes import CsiVolumes
from nomad_stateful.components.databases import COMPONENTS as OF_DATABASES
from nomad_stateful.components.databases import GROUPS
from nomad_stateful.components.driver_policy import DriverPolicy
from nomad_stateful.components.dump_bucket import DumpBucket
from nomad_stateful.components.failover_watch import FailoverWatch
from nomad_stateful.components.snapshot_schedules import SnapshotSchedules
from nomad_stateful.components.volume_metrics import VolumeMetrics
from nomad_stateful.components.zonal_volumes import ZonalVolumes
from nomad_stateful.schema.fields import PACKAGE
from nomad_stateful.version import VERSION

COMPONENTS: tuple[type[pulumi.ComponentResource], ...] = (
    Container,
    CsiPlugin,
    CsiVolume,
    CsiVolumes,
    DriverPolicy,
    DumpBucket,
    FailoverWatch,
    *(component for of_database in OF_DATABASES.values() for component in of_database),
    *GROUPS.values(),
    SnapshotSchedules,
    VolumeMetrics,
    ZonalVolumes,
)


class ComponentHost(ComponentProvider):
    """The SDK's host, except that an integer input may be an output, and arrives as an integer."""

    def __init__(self) -> None:
        super().__init__(list(COMPONENTS), PACKAGE, version=VERSION)
        self._describe_inherited()
        # The schema is made. From here on the SDK would convert with int(), which refuses outputs.
        for component in self._component_defs.values():
            _pass_numbers_on(component.inputs.values())
        for declared in self._type_defs.values():
            _pass_numbers_on(declared.properties.values())

    def _describe_inherited(self) -> None:
        """Adds the descriptions of outputs that a component has of the class which it is made of."""
        for component in COMPONENTS:
            definition = self._component_defs[component.__name__]
            for key, declared in definition.outputs.items():
                own = (self.analyzer.get_docstring(base, definition.outputs_mapping[key]) for base in component.__mro__)
                declared.description = declared.description or next(filter(None, own), None)
        definitions = self._component_defs, self._type_defs, self._dependencies
        self.schema = json.dumps(generate_schema(PACKAGE, VERSION, None, *definitions).to_json())

    def construct(
        self, name: str, resource_type: str, inputs: pulumi.Inputs, options: pulumi.ResourceOptions | None = None
    ) -> ConstructResult:
        """Returns a component out of what the other program gave."""
        whole = {key: _with_integers(value) for key, value in inputs.items()}
        return super().construct(name, resource_type, whole, options)


class Components:
    """The components of the plugin, as its server has them."""

    def __init__(self) -> None:
        self._host = ComponentHost()
        # The SDK makes components in an event loop, each in a context with settings of its own.
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def schema(self) -> dict[str, Any]:
        """Returns the parts of the package's schema that are about components: `resources` and `types`."""
        whole: dict[str, Any] = json.loads(self._host.schema or "{}")
        for token, component in whole["resources"].items():
            component["aliases"] = [{"type": earlier_type(token.rpartition(":")[2])}]
        return {kind: whole[kind] for kind in ("resources", "types")}

    def construct(self, request: Any, context: Any, engine_address: str) -> Any:
        """Returns the engine's answer to a component that it has this plugin make."""
        servicer = ProviderServicer(self._host, [], engine_address)
        return asyncio.run_coroutine_threadsafe(servicer.Construct(request, context), self._loop).result()


@cache
def components() -> Components:
    """Returns the process's own: reading the inputs of all takes a second."""
    return Components()


def _pass_numbers_on(properties: Iterable[PropertyDefinition]) -> None:
    for declared in properties:
        if declared.type is PropertyType.INTEGER:
            declared.type = PropertyType.NUMBER


def _with_integers(value: Any) -> Any:
    """Returns a value with its integers, which travel as floats, also inside collections and outputs."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, pulumi.Output):
        return value.apply(_with_integers)
    if isinstance(value, dict):
        return {key: _with_integers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_integers(item) for item in value]
    return value
