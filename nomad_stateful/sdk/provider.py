"""The provider with a configuration of the program's."""

from typing import Any

import pulumi
from pulumi.runtime import config as stack_config

from nomad_stateful.schema.config import ProviderProperties
from nomad_stateful.schema.fields import PACKAGE
from nomad_stateful.sdk.base import Named


class Provider(ProviderProperties, Named, pulumi.ProviderResource):
    """The connection to Nomad, and the AWS account of its volumes, for the resources that are given it.

    What is not given is the stack's, as for resources without a provider: `nomad-csi:address` and so on.
    """

    def __init__(self, resource_name: str, *, opts: pulumi.ResourceOptions | None = None, **settings: Any) -> None:
        """Registers the provider. Raises TypeError for a setting that it does not have."""
        given = {
            name: self._of_stack(name) if value is None else _text(value)
            for name, value in self._given(settings).items()
        }
        options = self._options(opts, self.table.inputs)
        pulumi.ProviderResource.__init__(self, PACKAGE, resource_name, given, options)

    def _of_stack(self, name: str) -> pulumi.Input[str] | None:
        key, config = self._wire_names[name], pulumi.Config(PACKAGE)
        private = self.table.inputs[key].secret or stack_config.is_config_secret(f"{PACKAGE}:{key}")
        return config.get_secret(key) if private else config.get(key)


def _text(value: Any) -> Any:
    """Returns a setting in the form that the engine hands to a plugin: a boolean as JSON."""
    return str(value).lower() if isinstance(value, bool) else value
