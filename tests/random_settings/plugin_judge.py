"""What the nomad-csi plugin's own checks say: they are a preview's, and the settings come before it."""

from collections.abc import Iterator

from nomad_stateful.plugin_server.plugin import Props
from nomad_stateful.plugin_server.values import UNKNOWN
from nomad_stateful.provider.plugin import NomadCsiPlugin
from nomad_stateful.waiting import Context
from tests.random_settings.resources import Resource, Resources

_TYPES = {resource.token: resource for resource in NomadCsiPlugin().resources}
_GIVEN_BY_OTHERS = {
    "nomad-csi:index:VolumeRelease": ("externalId", "volumeId"),
    "nomad-csi:index:VolumeProtection": ("volumeId",),
}
"""Inputs that are ids which AWS, Nomad or a driver gives."""


def complaints(resources: Resources) -> Iterator[str]:
    """Everything that the plugin refuses of a program's resources."""
    for name, resource in resources.items():
        if resource.typ in _TYPES:
            checked = _TYPES[resource.typ].check(Context(), {}, _in_a_preview(resource))
            yield from (f"{name}: {failure.reason}" for failure in checked.failures)


def _in_a_preview(resource: Resource) -> Props:
    """What is not known yet is as a preview has it."""
    ids = _GIVEN_BY_OTHERS.get(resource.typ, ())
    unknown = {key: UNKNOWN for key in ids if not (found := resource.inputs.get(key)) or found.endswith("-id")}
    return {**resource.inputs, **unknown}
