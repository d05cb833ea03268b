"""The tables of resources and functions: what is declared of each, and what follows from it."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as attribute
from typing import Any

from nomad_stateful.plugin_server.plugin import CheckFailure, InvokeFailure, Props
from nomad_stateful.schema.fields import AnyField, properties, python_name, read, token


@dataclass(frozen=True)
class ResourceTable:
    """A resource type: its inputs, which are outputs too, and the outputs that it computes."""

    name: str
    description: str
    inputs: Mapping[str, AnyField]
    outputs: Mapping[str, AnyField] = attribute(default_factory=dict)

    @property
    def token(self) -> str:
        return token(self.name)

    @property
    def fields(self) -> dict[str, AnyField]:
        """Returns inputs and outputs."""
        return {**self.inputs, **self.outputs}

    @property
    def defaults(self) -> Props:
        """Returns every input that need not be given, with its default; None where there is none."""
        return _defaults(self.inputs)

    @property
    def replace_on(self) -> frozenset[str]:
        return frozenset(key for key, field in self.inputs.items() if field.replaces)

    @property
    def secrets(self) -> frozenset[str]:
        return frozenset(key for key, field in self.fields.items() if field.secret)

    def checked(self, news: Props) -> tuple[Props, list[CheckFailure]]:
        """Returns the inputs with defaults, and what is wrong with them."""
        inputs = self.defaults | {key: value for key, value in news.items() if value is not None}
        failures = _unknown_inputs(news, self.inputs)
        for key, field in self.inputs.items():
            failures += field.failures(key, inputs.get(key))
        return inputs, failures

    def schema(self) -> dict[str, Any]:
        """Returns the resource in terms of Pulumi's schema."""
        return {
            "description": self.description,
            "inputProperties": {key: field.schema() for key, field in self.inputs.items()},
            "requiredInputs": _required(self.inputs),
            "properties": {key: field.schema(with_default=False) for key, field in self.fields.items()},
            "required": sorted(self.fields),
        }


@dataclass(frozen=True)
class FunctionTable:
    """A function: its arguments and what it returns."""

    name: str
    description: str
    inputs: Mapping[str, AnyField]
    outputs: Mapping[str, AnyField]

    @property
    def token(self) -> str:
        return token(self.name)

    def arguments(self, args: Props) -> Props:
        """Returns the arguments with defaults, also in place of empty ones. Raises InvokeFailure for a wrong one."""
        for key in args:
            if key not in self.inputs and not self.inputs:
                raise InvokeFailure(key, f"{key} is not an argument: {self.name} takes none")
        given = {key: value for key, value in args.items() if value not in (None, "")}
        failures = _unknown_inputs(args, self.inputs)
        for key, field in self.inputs.items():
            failures += field.failures(key, given.get(key))
        for failure in failures:
            raise InvokeFailure(failure.property, failure.reason)
        return _defaults(self.inputs) | given

    def wire(self, **args: Any) -> Props:
        """Returns arguments of Python's names as the function takes them, without those that are not given."""
        return {key: value for key in self.inputs if (value := args.get(python_name(key))) is not None}

    def read(self, answer: Mapping[str, Any]) -> Props:
        """Returns the outputs as the engine gave them to a program, by the names and in the types of Python."""
        return read(self.outputs, answer)

    def schema(self) -> dict[str, Any]:
        """Returns the function in terms of Pulumi's schema."""
        inputs = {"inputs": {"type": "object"} | properties(self.inputs, _required(self.inputs))} if self.inputs else {}
        outputs = {"outputs": {"type": "object"} | properties(self.outputs, list(self.outputs))}
        return {"description": self.description} | inputs | outputs


def _defaults(inputs: Mapping[str, AnyField]) -> Props:
    return {key: copy.deepcopy(field.default) for key, field in inputs.items() if not field.required}


def _required(inputs: Mapping[str, AnyField]) -> list[str]:
    return sorted(key for key, field in inputs.items() if field.required)


def _unknown_inputs(props: Props, known: Mapping[str, AnyField]) -> list[CheckFailure]:
    """Returns one failure for each input that nobody would read, but for the engine's own."""
    return [
        CheckFailure(key, f"{key} is not an input here. The inputs are {', '.join(sorted(known))}")
        for key in props
        if key not in known and not key.startswith("__")
    ]
