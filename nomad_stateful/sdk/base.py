"""What the provider's classes have in common."""

from __future__ import annotations

import inspect
from typing import ClassVar

import pulumi


class NomadCsiResource(pulumi.CustomResource):
    """Names properties in Python's way to the program and in Pulumi's to the provider; other keys stay as they are."""

    _wire_names: ClassVar[dict[str, str]] = {}
    _python_names: ClassVar[dict[str, str]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._wire_names = {name: _camel_case(name) for name in inspect.get_annotations(cls)}
        cls._python_names = {wire: name for name, wire in cls._wire_names.items()}

    def translate_input_property(self, prop: str) -> str:
        """The provider's name of a property."""
        return self._wire_names.get(prop, prop)

    def translate_output_property(self, prop: str) -> str:
        """The program's name of a property."""
        return self._python_names.get(prop, prop)


def _camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
