"""What the provider's classes have in common."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pulumi

from nomad_stateful.schema.fields import AnyField, python_name
from nomad_stateful.schema.properties import Properties, argument

# The SDK reads outputs in the types that a class's annotations name.
_TYPES: Mapping[tuple[str, Any], Any] = {
    ("string", ""): pulumi.Output[str],
    ("integer", ""): pulumi.Output[int],
    ("boolean", ""): pulumi.Output[bool],
    ("array", "string"): pulumi.Output[Sequence[str]],
    ("object", "string"): pulumi.Output[Mapping[str, str]],
    ("object", "integer"): pulumi.Output[Mapping[str, int]],
}


class Named(Properties):
    """What is named in Python's way to the program and in Pulumi's to the provider.

    A class inherits its properties from nomad_stateful/schema, whose annotations are the constructor's arguments.
    """

    resource_name: str = argument(kw_only=False)
    opts: pulumi.ResourceOptions | None = None
    _wire_names: ClassVar[dict[str, str]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not hasattr(cls, "table"):
            return
        fields = cls.table.fields
        cls._wire_names = {python_name(key): key for key in fields}
        for name, key in cls._wire_names.items():
            setattr(cls, name, pulumi.property(key))
        cls.__annotations__ = {
            name: _TYPES[fields[key].kind, fields[key].items] for name, key in cls._wire_names.items()
        }
        lines = [f"    {name}: {fields[key].description}" for name, key in cls._wire_names.items()]
        cls.__doc__ = "\n".join([inspect.getdoc(cls) or "", "", "Properties:", *lines])

    @classmethod
    def _given(cls, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Returns every property, None where it is not given. Raises TypeError for a wrong or a missing one."""
        known = {python_name(key): field for key, field in cls.table.inputs.items()}
        unknown = sorted(inputs.keys() - known.keys())
        missing = [name for name, field in known.items() if field.required and name not in inputs]
        if unknown or missing:
            wrong = [*(f"{name} is not an input" for name in unknown), *(f"{name} is missing" for name in missing)]
            raise TypeError(f"{cls.table.name}: {', '.join(wrong)}")
        # An input that is not given is an output too: of the provider's default.
        return dict.fromkeys(cls._wire_names) | dict(inputs)

    @classmethod
    def _options(
        cls, opts: pulumi.ResourceOptions | None, fields: Mapping[str, AnyField]
    ) -> pulumi.ResourceOptions | None:
        """Returns the options, with those of the fields that are secret."""
        secret = [python_name(key) for key, field in fields.items() if field.secret]
        if not secret:
            return opts
        return pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(additional_secret_outputs=secret))

    def translate_input_property(self, prop: str) -> str:
        """Returns the provider's name of a property; other keys stay as they are."""
        return self._wire_names.get(prop, prop)

    def translate_output_property(self, prop: str) -> str:
        """Returns the program's name of a property; other keys stay as they are."""
        return python_name(prop) if prop in self.table.fields else prop


class NomadCsiResource(Named, pulumi.CustomResource):
    """A resource of the plugin."""

    # The engine takes what calls the third constructor, from the inside, for the program's line: this is it.
    def __init__(self, resource_name: str, *, opts: pulumi.ResourceOptions | None = None, **inputs: Any) -> None:
        """Registers the resource. Raises TypeError for an input that it does not have, or that is missing."""
        options = self._options(opts, self.table.outputs)
        pulumi.CustomResource.__init__(self, self.table.token, resource_name, self._given(inputs), options)
