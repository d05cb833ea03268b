"""The types, functions and inputs are those of the SDKs and of our schema, and none is forgotten here."""

from __future__ import annotations

import importlib
import inspect
import json
from typing import Any

import pytest
from pulumi._types import input_type_py_to_pulumi_names, resource_types

from nomad_stateful.plugin_server.stubs import provider_pb2
from nomad_stateful.plugin_server.values import UNKNOWN
from nomad_stateful.provider.plugin import NomadCsiPlugin
from sandbox.standins.plugins.aws.plugin import AwsPlugin
from sandbox.standins.plugins.nomad.plugin import NomadPlugin
from tests.providers.conformance.life import checked, of, visible
from tests.providers.conformance.subjects import FunctionSubject, TypeSubject
from tests.providers.conformance.tables import FUNCTIONS, TYPES
from tests.providers.conformance.worlds import EMBEDDED, World

OFFICIAL = of(lambda subject: subject.plugin != "nomad-csi")
OWN = of(lambda subject: subject.plugin == "nomad-csi")


def sdk_class(token: str, suffix: str = "") -> Any:
    """The SDK's class of a type, as aws:ebs/volume:Volume is pulumi_aws.ebs.Volume."""
    if suffix:
        # Under the other name where an object of another type has this one.
        made = sdk_class(token)
        beside = importlib.import_module(made.__module__)
        return getattr(beside, f"{made.__name__}Init{suffix}", None) or getattr(beside, made.__name__ + suffix)
    package, path, name = token.split(":")
    module = path.rpartition("/")[0]
    places = [f"pulumi_{package}", *([] if module == "index" else [module])]
    return getattr(importlib.import_module(".".join(places)), name, None) or _hidden(places, path, name)


def _hidden(places: list[str], path: str, name: str) -> Any:
    stem = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in path.rpartition("/")[2])
    return getattr(importlib.import_module(".".join([*places, stem])), name)


@pytest.mark.parametrize("plugin", [AwsPlugin, NomadPlugin, NomadCsiPlugin])
def test_every_type_and_function_of_a_plugin_is_asked(plugin: Any) -> None:
    made = plugin()
    assert {one.token for one in made.resources} == {one.token for one in TYPES if one.plugin == made.name}
    assert {one.token for one in made.functions} == {one.token for one in FUNCTIONS if one.plugin == made.name}


@OFFICIAL
def test_every_input_of_the_sdk_is_taken_and_no_other_is_required(place: World, subject: TypeSubject) -> None:
    arguments = sdk_class(subject.token, "Args")
    names = input_type_py_to_pulumi_names(arguments)
    given = subject.inputs(place)
    left_out = subject.left_out if subject.implementation == EMBEDDED else frozenset()
    assert set(given) <= set(names.values())
    for name in sorted(set(names.values()) - set(given)):
        reasons = place.plugin.check(subject.token, given | {name: UNKNOWN}).reasons
        refused = "does not implement the input" in reasons or "is not an input of" in reasons
        assert refused == (name in left_out), f"{name}: {reasons}"
    parameters = list(inspect.signature(arguments.__init__).parameters.values())[1:]
    required = {names[one.name] for one in parameters if one.default is inspect.Parameter.empty}
    assert required == subject.required - subject.stricter


@OFFICIAL
def test_every_output_is_one_of_the_sdk(place: World, subject: TypeSubject) -> None:
    inputs = checked(place, subject, subject.inputs(place))
    made = place.plugin.create(subject.token, inputs).outputs.props
    assert set(visible(made)) - {"id"} <= set(resource_types(sdk_class(subject.token)))


@OWN
def test_inputs_and_outputs_are_those_of_the_schema(place: World, subject: TypeSubject) -> None:
    schema = json.loads(place.plugin.stub.GetSchema(provider_pb2.GetSchemaRequest()).schema)["resources"][subject.token]
    inputs = checked(place, subject, subject.inputs(place))
    made = place.plugin.create(subject.token, inputs).outputs.props
    assert set(inputs) <= set(schema["inputProperties"])
    assert set(made) <= set(schema["properties"])
    assert set(schema["requiredInputs"]) == subject.required
    replacing = {name for name, one in schema["inputProperties"].items() if one.get("replaceOnChanges")}
    assert set(subject.replaces) <= replacing
    assert not set(subject.updates) & replacing
    secret = {name for name, one in schema["properties"].items() if one.get("secret")}
    assert secret == subject.secrets


@pytest.mark.parametrize("function", [one for one in FUNCTIONS if one.plugin == "nomad-csi"], ids=lambda one: one.token)
def test_answers_are_those_of_the_schema(place: World, function: FunctionSubject) -> None:
    schema = json.loads(place.plugin.stub.GetSchema(provider_pb2.GetSchemaRequest()).schema)
    declared, args = schema["functions"][function.token], function.args(place)
    assert set(args) <= set(declared.get("inputs", {}).get("properties", {}))
    assert set(declared.get("inputs", {}).get("required", [])) == function.required
    answer = place.plugin.invoke(function.token, args)
    assert set(answer) == set(declared["outputs"]["required"]) | set(args)
    for key, field in declared["outputs"]["properties"].items():
        if "$ref" in field.get("items", {}):
            kind = schema["types"][field["items"]["$ref"].removeprefix("#/types/")]
            assert all(set(kind["required"]) == set(kind["properties"]) == set(item) for item in answer[key])
