"""The schema that the engine is told, what the plugin accepts, and the classes of programs in Python are one."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any

import pulumi
import pytest
from pulumi._types import resource_types
from pulumi.runtime import mocks

from nomad_stateful import sdk
from nomad_stateful.plugin_server.plugin import InvokeFailure, Props, ResourceType
from nomad_stateful.plugin_server.values import UNKNOWN
from nomad_stateful.provider.plugin import NomadCsiPlugin
from nomad_stateful.sdk.base import NomadCsiResource
from nomad_stateful.waiting import Context

PLUGIN = NomadCsiPlugin()
SCHEMA = PLUGIN.schema()
OWN = {token: one for token, one in SCHEMA["resources"].items() if not one.get("isComponent")}
"""The schema of each resource that the provider makes itself."""
RESOURCES = {one.token: one for one in PLUGIN.resources}
CLASSES: dict[str, Any] = {
    f"nomad-csi:index:{name}": one
    for name, one in vars(sdk).items()
    if inspect.isclass(one) and issubclass(one, NomadCsiResource)
}
every_resource = pytest.mark.parametrize("token", sorted(OWN))
every_function = pytest.mark.parametrize("token", sorted(SCHEMA["functions"]))


def test_a_map_in_the_place_of_a_text_is_not_shown() -> None:
    given = {"awsConfig": {"secretKey": "whispered"}, "volumeId": ["whispered"]}
    failures = RESOURCES["nomad-csi:index:VolumeRelease"].check(Context(), {}, given).failures
    said = [one.reason for one in failures]
    assert "awsConfig is a map: it must be a string" in said
    assert not [one for one in said if "whispered" in one]


def test_every_resource_says_what_its_deletion_removes() -> None:
    assert not [token for token, one in RESOURCES.items() if type(one).delete is ResourceType.delete]


def sample(field: Mapping[str, Any]) -> Any:
    """A value of a property's type, as the engine hands it to a program: its numbers are floats."""
    items = field.get("items") or field.get("additionalProperties") or {}
    match field["type"]:
        case "string":
            return "text"
        case "integer":
            return 7.0
        case "boolean":
            return True
        case "array" if "$ref" in items:
            kind = SCHEMA["types"][items["$ref"].removeprefix("#/types/")]
            return [samples(kind["properties"])]
        case "array":
            return [sample(items)]
    return {"key": sample(items)}


def samples(fields: Mapping[str, Mapping[str, Any]]) -> Props:
    return {key: sample(field) for key, field in fields.items()}


def snake_case(key: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key)


class Engine(mocks.Mocks):
    """Keeps what a program registers and asks, and answers with a value of its type for every property."""

    def __init__(self) -> None:
        self.registered: list[mocks.MockResourceArgs] = []
        self.arguments: Props = {}

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[Any, Any]]:
        self.registered.append(args)
        return "id", samples(OWN[args.typ]["properties"])

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[Any, Any], list[tuple[str, str]] | None]:
        self.arguments = dict(args.args)
        return samples(SCHEMA["functions"][args.token]["outputs"]["properties"]), []


@pytest.fixture
def engine() -> Engine:
    made = Engine()
    mocks.set_mocks(made)
    return made


def in_a_program(body: Any) -> Any:
    """What an output of a program that does `body` holds at the end."""
    held: list[Any] = []

    @pulumi.runtime.test  # type: ignore[untyped-decorator]
    def run() -> pulumi.Output[Any]:
        output: pulumi.Output[Any] = pulumi.Output.from_input(body())
        return output.apply(held.append)

    run()
    return held[0]


def inputs_of(token: str) -> dict[str, Any]:
    return dict(OWN[token]["inputProperties"])


def planned(token: str, **changed: Any) -> Props:
    """Inputs as a preview has them: where nothing else is said, not known yet."""
    return dict.fromkeys(inputs_of(token), UNKNOWN) | changed


def test_every_resource_has_a_class_and_every_class_a_resource() -> None:
    assert set(OWN) == set(RESOURCES) == set(CLASSES)


@every_resource
def test_check_takes_the_inputs_of_the_schema_and_no_other(token: str) -> None:
    def refused(key: str, value: Any) -> list[str]:
        failures = RESOURCES[token].check(Context(), {}, planned(token, **{key: value})).failures
        return [one.reason for one in failures if one.reason.startswith(key)]

    for key, field in inputs_of(token).items():
        assert refused(key, UNKNOWN) == []
        wrong = {"a": 1} if field["type"] in ("string", "integer", "boolean") else "text"
        assert refused(key, wrong), f"{key} is a {field['type']}"
    outputs = OWN[token]["properties"].keys() - inputs_of(token)
    for key in (*outputs, "nope"):
        assert f"{key} is not an input" in "".join(refused(key, "x"))


@every_resource
def test_check_misses_what_the_schema_requires_and_fills_in_its_defaults(token: str) -> None:
    required = OWN[token]["requiredInputs"]
    nothing = RESOURCES[token].check(Context(), {}, {})
    # The last rule of what is right by itself is not the schema's: an EBS volume's release names it.
    assert sorted({one.property for one in nothing.failures if "is missing" in one.reason}) == required
    known = RESOURCES[token].check(Context(), {}, dict.fromkeys(required, UNKNOWN)).inputs
    told = {key: field["default"] for key, field in inputs_of(token).items() if "default" in field}
    assert {key: value for key, value in known.items() if key in told} == told
    # Lists and maps can have no default in a schema; other properties without one are up to the plugin.
    for key in known.keys() - told.keys() - set(required):
        assert known[key] in ([], {}) or key in ("awsConfig", "finalSnapshot", "guardId", "serving", "sizeGib"), key


@every_resource
def test_a_diff_replaces_for_what_the_schema_says(token: str) -> None:
    resource, schema = RESOURCES[token], OWN[token]
    # Without a consumer nobody has to be asked who deployed it.
    state = {key: "" if key == "consumerJobId" else value for key, value in samples(schema["properties"]).items()}
    before = {key: state[key] for key in inputs_of(token)}
    replaced = set()
    for key in before:
        diff = resource.diff(Context(), "id", state, before, before | {key: UNKNOWN})
        replaced |= {key for kind in diff.detailed.values() if kind.replaces}
    assert replaced == {key for key, field in inputs_of(token).items() if field.get("replaceOnChanges")}


@every_resource
def test_outputs_that_are_computed_or_secret_are_so_in_the_schema(token: str) -> None:
    resource, schema = RESOURCES[token], OWN[token]
    assert resource.computed == schema["properties"].keys() - schema["inputProperties"]
    assert resource.secret_outputs == {key for key, field in schema["properties"].items() if field.get("secret")}
    assert set(schema["required"]) == set(schema["properties"])


@every_resource
def test_a_class_registers_every_input_and_reads_every_output_in_its_type(token: str, engine: Engine) -> None:
    schema, kind = OWN[token], CLASSES[token]
    given = {snake_case(key): value for key, value in samples(inputs_of(token)).items()}
    names = [snake_case(key) for key in schema["properties"]]

    def body() -> pulumi.Output[Any]:
        made = kind("name", **given)
        return pulumi.Output.all(*[getattr(made, name) for name in names])

    read = dict(zip(schema["properties"], in_a_program(body), strict=True))
    (registered,) = engine.registered
    assert (registered.typ, registered.inputs) == (token, samples(inputs_of(token)))
    assert read == samples(schema["properties"])
    numbers = {key for key, field in schema["properties"].items() if field["type"] == "integer"}
    assert {key for key, value in read.items() if type(value) is int} == numbers
    assert set(resource_types(kind)) - {"id", "urn"} == set(schema["properties"])


@every_resource
def test_a_class_takes_what_the_schema_takes_and_misses_what_it_requires(token: str, engine: Engine) -> None:
    kind, required = CLASSES[token], OWN[token]["requiredInputs"]
    typed = inspect.get_annotations(kind.__bases__[0])
    assert set(typed) == {snake_case(key) for key in inputs_of(token)}
    assert {name for name, one in typed.items() if "None" not in one} == {snake_case(key) for key in required}
    needed = {snake_case(key): "x" for key in required}
    in_a_program(lambda: kind("name", **needed).urn)
    assert set(engine.registered[0].inputs) == set(required), "the provider alone has the defaults"
    for name in needed:
        with pytest.raises(TypeError, match=f"{name} is missing"):
            kind("name", **{key: value for key, value in needed.items() if key != name})
    with pytest.raises(TypeError, match="nope is not an input"):
        kind("name", **needed, nope="x")


@every_resource
def test_the_help_of_a_class_says_what_the_schema_says(token: str) -> None:
    told = CLASSES[token].__doc__ or ""
    for key, field in OWN[token]["properties"].items():
        assert f"{snake_case(key)}: {field['description']}" in told


@every_function
def test_a_function_takes_the_arguments_of_the_schema_and_no_other(token: str) -> None:
    (function,) = (one for one in PLUGIN.functions if one.token == token)
    inputs = SCHEMA["functions"][token].get("inputs", {"properties": {}, "required": []})
    arguments = samples(inputs["properties"])
    with pytest.raises(InvokeFailure, match="nope is not an "):
        function.invoke(Context(), arguments | {"nope": 1})
    for key in inputs["required"]:
        with pytest.raises(InvokeFailure, match=f"{key} is required"):
            function.invoke(Context(), {name: value for name, value in arguments.items() if name != key})


def test_the_functions_of_programs_ask_and_answer_as_the_schema_says(engine: Engine) -> None:
    cluster = in_a_program(sdk.get_cluster)
    assert fields(cluster) == set(SCHEMA["functions"]["nomad-csi:index:getCluster"]["outputs"]["properties"])
    assert fields(cluster.nodes[0]) == set(SCHEMA["types"]["nomad-csi:index:ClusterNode"]["properties"])
    assert fields(cluster.servers[0]) == set(SCHEMA["types"]["nomad-csi:index:ClusterServer"]["properties"])
    assert (cluster.nodes[0].cpu_mhz, cluster.nodes[0].drivers, cluster.zones) == (7, ("text",), ("text",))
    assert type(cluster.nodes[0].memory_mib) is int

    schema = SCHEMA["functions"]["nomad-csi:index:getService"]
    arguments: dict[str, Any] = {snake_case(key): "x" for key in schema["inputs"]["properties"]}
    service = in_a_program(lambda: sdk.get_service_output(**arguments))
    assert set(engine.arguments) == set(schema["inputs"]["properties"])
    assert fields(service) == set(schema["outputs"]["properties"])
    assert type(service.port) is int


def fields(made: Any) -> set[str]:
    """Names of a dataclass's fields as the engine has them."""
    return {
        first + "".join(word.capitalize() for word in rest)
        for first, *rest in (field.name.split("_") for field in dataclasses.fields(made))
    }
