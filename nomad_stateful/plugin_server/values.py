"""Property values: plain Python on our side, protobuf Structs with marked secrets and unknowns on the wire."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from google.protobuf.struct_pb2 import ListValue, NullValue, Struct, Value

from nomad_stateful.errors import ProviderError

Props = dict[str, Any]
"""A resource's properties: None, bool, int, float, str, list, dict and UNKNOWN."""

# Wire constants of the Pulumi protocol:
# https://github.com/pulumi/pulumi/blob/master/sdk/go/common/resource/properties.go
_SIGNATURE: Final = "4dabf18193072939515e22adb298388d"
_SECRET: Final = "1b47061264138c4ac30d75fd1eb44270"
_OUTPUT: Final = "d0e6a833031e9bbcd3f4e8bde6ca49a4"
_REFUSED: Final = {
    "c44067f5952c0a294b673a41bacd8c17": "an asset",
    "0def7320c3a5731c473e5ecbe6d01bc7": "an archive",
    "5cf8f73096256a8f31e491e813e4eb8e": "a resource reference",
}
_UNKNOWN_STRING: Final = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
_UNKNOWNS: Final = frozenset(
    {
        _UNKNOWN_STRING,
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",  # bool
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",  # number
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",  # array
        "030794c1-ac77-496b-92df-f27374a8bd58",  # asset
        "e48ece36-62e2-4504-bad9-02848725956a",  # archive
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",  # object
    }
)
_ENGINE_CONFIG_KEYS: Final = ("version", "pluginDownloadURL", "__internal")


class Unknown:
    """The type of UNKNOWN: a value that exists only after another resource has been made."""

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __bool__(self) -> NoReturn:
        raise TypeError("an unknown value has no truth value; compare with `is UNKNOWN`")

    def __copy__(self) -> Unknown:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Unknown:
        return self


UNKNOWN: Final = Unknown()


@dataclass(frozen=True)
class Secret:
    """Marks an output value as secret beyond the automatic rule (secret inputs stay secret under the same name)."""

    value: Any


def contains_unknown(value: Any) -> bool:
    """Tells whether an unknown is anywhere inside the value."""
    if isinstance(value, Unknown):
        return True
    if isinstance(value, Secret):
        return contains_unknown(value.value)
    if isinstance(value, dict):
        return any(contains_unknown(item) for item in value.values())
    if isinstance(value, (list, tuple)):
        return any(contains_unknown(item) for item in value)
    return False


def unmarshal(struct: Struct) -> tuple[Props, set[str]]:
    """Returns plain properties, and the top-level keys that held a secret anywhere."""
    props: Props = {}
    secret_keys: set[str] = set()
    for key, value in struct.fields.items():
        props[key], secret = _from_wire(value, key)
        if secret:
            secret_keys.add(key)
    return props, secret_keys


def _from_wire(value: Value, path: str) -> tuple[Any, bool]:
    match value.WhichOneof("kind"):
        case "bool_value":
            return value.bool_value, False
        case "number_value":
            number = value.number_value
            return (int(number) if number.is_integer() else number), False
        case "string_value":
            text = value.string_value
            return (UNKNOWN if text in _UNKNOWNS else text), False
        case "list_value":
            pairs = [_from_wire(item, f"{path}[{i}]") for i, item in enumerate(value.list_value.values)]
            return [item for item, _ in pairs], any(secret for _, secret in pairs)
        case "struct_value":
            return _object_from_wire(value.struct_value, path)
        case _:
            return None, False


def _object_from_wire(struct: Struct, path: str) -> tuple[Any, bool]:
    fields = struct.fields
    signature = fields[_SIGNATURE].string_value if _SIGNATURE in fields else ""
    if signature == _SECRET:
        return _from_wire(fields["value"], path)[0], True
    if signature == _OUTPUT:
        if "value" not in fields:
            return UNKNOWN, fields["secret"].bool_value
        inner, secret = _from_wire(fields["value"], path)
        return inner, secret or ("secret" in fields and fields["secret"].bool_value)
    if signature:
        kind = _REFUSED.get(signature, f"a value of an unknown kind ({signature})")
        raise ProviderError(f"{path} is {kind}: this provider takes plain values only")
    items = {key: _from_wire(item, f"{path}.{key}") for key, item in fields.items()}
    return {key: item for key, (item, _) in items.items()}, any(secret for _, secret in items.values())


def marshal(props: Props, secret_keys: Iterable[str] = ()) -> Struct:
    """Returns the Struct for properties; the values of `secret_keys` and every Secret are wrapped as secret."""
    secrets = set(secret_keys)
    fields = {}
    for key, value in props.items():
        wrapped = Secret(value) if key in secrets and not isinstance(value, Secret) and value is not None else value
        fields[key] = _to_wire(wrapped, key)
    return Struct(fields=fields)


def _to_wire(value: Any, path: str) -> Value:  # noqa: PLR0911 - one return per kind
    match value:
        case None:
            return Value(null_value=NullValue.NULL_VALUE)
        case Unknown():
            return Value(string_value=_UNKNOWN_STRING)
        case Secret():
            marked = {_SIGNATURE: Value(string_value=_SECRET), "value": _to_wire(value.value, path)}
            return Value(struct_value=Struct(fields=marked))
        case bool():
            return Value(bool_value=value)
        case int() | float():
            return Value(number_value=value)
        case str():
            return Value(string_value=value)
        case dict():
            return Value(struct_value=Struct(fields={k: _to_wire(v, f"{path}.{k}") for k, v in value.items()}))
        case list() | tuple() | set() | frozenset():
            items = sorted(value) if isinstance(value, (set, frozenset)) else value
            return Value(list_value=ListValue(values=[_to_wire(v, f"{path}[{i}]") for i, v in enumerate(items)]))
        case _:
            raise TypeError(f"{path}: a {type(value).__name__} cannot be a property value")


def decode_config(props: Props, strings: Iterable[str] = ()) -> Props:
    """Returns typed provider configuration.

    The engine sends every configuration value as a string, anything but a string as JSON. Values of keys in
    `strings` are taken as they are (an access key may look like a number); the engine's own keys are dropped.
    """
    verbatim = set(strings)
    return {
        key: value if key in verbatim or not isinstance(value, str) else _decode(value)
        for key, value in props.items()
        if key not in _ENGINE_CONFIG_KEYS and value is not None
    }


def _decode(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
