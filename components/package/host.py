"""Serves the components to Pulumi programs in every language."""

from collections.abc import Iterable
from typing import Any

import pulumi
from pulumi.provider import main
from pulumi.provider.experimental.analyzer import PropertyDefinition, PropertyType
from pulumi.provider.experimental.component import ComponentProvider
from pulumi.provider.provider import ConstructResult

from nomad_stateful.components.container import Container
from nomad_stateful.components.csi_plugin import CsiPlugin
from nomad_stateful.components.csi_volume import CsiVolume
from nomad_stateful.components.csi_volumes import CsiVolumes
from nomad_stateful.components.driver_policy import DriverPolicy
from nomad_stateful.components.dump_bucket import DumpBucket
from nomad_stateful.components.failover_watch import FailoverWatch
from nomad_stateful.components.mysql import MysqlServer
from nomad_stateful.components.mysql_backup import MysqlBackup
from nomad_stateful.components.mysql_metrics import MysqlMetrics
from nomad_stateful.components.snapshot_schedules import SnapshotSchedules
from nomad_stateful.components.volume_metrics import VolumeMetrics
from nomad_stateful.components.zonal_volumes import ZonalVolumes
from nomad_stateful.version import VERSION

PACKAGE = "nomad-stateful"
COMPONENTS: tuple[type[pulumi.ComponentResource], ...] = (
    Container,
    CsiPlugin,
    CsiVolume,
    CsiVolumes,
    DriverPolicy,
    DumpBucket,
    FailoverWatch,
    MysqlBackup,
    MysqlMetrics,
    MysqlServer,
    SnapshotSchedules,
    VolumeMetrics,
    ZonalVolumes,
)


class ComponentHost(ComponentProvider):
    """The SDK's host, except that an integer input may be an output, and arrives as an integer."""

    def __init__(self) -> None:
        super().__init__(list(COMPONENTS), PACKAGE, version=VERSION)
        # The schema is made. From here on the SDK would convert with int(), which refuses outputs.
        for component in self._component_defs.values():
            _pass_numbers_on(component.inputs.values())
        for declared in self._type_defs.values():
            _pass_numbers_on(declared.properties.values())

    def construct(
        self, name: str, resource_type: str, inputs: pulumi.Inputs, options: pulumi.ResourceOptions | None = None
    ) -> ConstructResult:
        """Returns a component out of what the other program gave."""
        whole = {key: _with_integers(value) for key, value in inputs.items()}
        return super().construct(name, resource_type, whole, options)


def serve(arguments: list[str]) -> None:
    """Serves until the engine is done; `arguments` are those the engine starts a plugin with."""
    main(ComponentHost(), arguments)


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
