"""What the provider's classes have in common."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, ClassVar

import pulumi

from nomad_stateful.schema.fields import python_name
from nomad_stateful.schema.tables import ResourceTable


class NomadCsiResource(pulumi.CustomResource):
    """A resource of the plugin, named in Python's way to the program and in Pulumi's to the provider.

    A class has its table, one annotation for each output, and a TypedDict of its inputs: types for the reader and the
    type checker. Names, defaults and what is secret are the table's.
    """

    table: ClassVar[ResourceTable]
    _wire_names: ClassVar[dict[str, str]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._wire_names = {python_name(key): key for key in cls.table.fields}
        for name, key in cls._wire_names.items():
            setattr(cls, name, pulumi.property(key))
        lines = [f"    {name}: {cls.table.fields[key].description}" for name, key in cls._wire_names.items()]
        cls.__doc__ = "\n".join([inspect.getdoc(cls) or "", "", "Properties:", *lines])

    def _register(self, resource_name: str, inputs: Mapping[str, Any], opts: pulumi.ResourceOptions | None) -> None:
        """Registers the resource. Raises TypeError for an input that it does not have, or that is missing.

        No constructor: the engine takes what calls the third one of them, from the inside, for the program's line.
        """
        known = {python_name(key): field for key, field in self.table.inputs.items()}
        unknown = sorted(inputs.keys() - known.keys())
        missing = [name for name, field in known.items() if field.required and name not in inputs]
        if unknown or missing:
            wrong = [*(f"{name} is not an input" for name in unknown), *(f"{name} is missing" for name in missing)]
            raise TypeError(f"{self.table.name}: {', '.join(wrong)}")
        secret = [python_name(key) for key, field in self.table.outputs.items() if field.secret]
        if secret:
            opts = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(additional_secret_outputs=secret))
        # An input that is not given is an output too: of the provider's default.
        super().__init__(self.table.token, resource_name, dict.fromkeys(self._wire_names) | dict(inputs), opts)

    def translate_input_property(self, prop: str) -> str:
        """Returns the provider's name of a property; other keys stay as they are."""
        return self._wire_names.get(prop, prop)

    def translate_output_property(self, prop: str) -> str:
        """Returns the program's name of a property; other keys stay as they are."""
        return python_name(prop) if prop in self.table.fields else prop
