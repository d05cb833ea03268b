"""The wire form of property values."""

from typing import Any

import pytest
from google.protobuf import json_format
from google.protobuf.struct_pb2 import Struct
from hypothesis import given
from hypothesis import strategies as st

from nomad_stateful.errors import ProviderError
from nomad_stateful.plugin_server.values import UNKNOWN, Secret, contains_unknown, decode_config, marshal, unmarshal

SIGNATURE = "4dabf18193072939515e22adb298388d"
SECRET = "1b47061264138c4ac30d75fd1eb44270"
ASSET = "c44067f5952c0a294b673a41bacd8c17"
UNKNOWN_TEXT = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def struct(value: dict[str, Any]) -> Struct:
    made = Struct()
    made.update(value)
    return made


@given(st.dictionaries(st.text(), plain))
def test_plain_values_survive_the_wire(props: dict[str, object]) -> None:
    assert unmarshal(marshal(props)) == (props, set())


def test_whole_numbers_arrive_as_int_and_others_as_float() -> None:
    props, _ = unmarshal(struct({"count": 3.0, "share": 0.5}))
    assert [type(props["count"]), type(props["share"])] == [int, float]


def test_a_secret_at_any_depth_is_unwrapped_and_marks_its_top_level_key() -> None:
    wrapped = {SIGNATURE: SECRET, "value": "s3cret"}
    props, secrets = unmarshal(struct({"items": {"list": [wrapped]}, "open": 1.0}))
    assert (props, secrets) == ({"items": {"list": ["s3cret"]}, "open": 1}, {"items"})


def test_secret_keys_and_secret_values_are_wrapped_on_the_way_out() -> None:
    sent = marshal({"a": "x", "b": Secret("y"), "c": "z"}, {"a"})
    assert unmarshal(sent) == ({"a": "x", "b": "y", "c": "z"}, {"a", "b"})


def test_unknowns_are_found_at_any_depth_and_survive_the_wire() -> None:
    props, _ = unmarshal(struct({"a": {"b": [UNKNOWN_TEXT]}, "c": "known"}))
    assert props["a"]["b"][0] is UNKNOWN
    assert contains_unknown(props)
    assert not contains_unknown(props["c"])
    assert json_format.MessageToDict(marshal(props))["a"] == {"b": [UNKNOWN_TEXT]}


def test_an_unknown_refuses_to_be_taken_for_true_or_false() -> None:
    with pytest.raises(TypeError, match="is UNKNOWN"):
        bool(UNKNOWN)


def test_an_asset_is_refused_by_its_place() -> None:
    with pytest.raises(ProviderError, match=r"jobspec\.file is an asset"):
        unmarshal(struct({"jobspec": {"file": {SIGNATURE: ASSET, "text": "x"}}}))


def test_configuration_is_decoded_except_for_strings_that_look_like_json() -> None:
    config = {"skipVerify": "true", "accessKey": "123", "region": "us-west-2", "tags": '{"a":"b"}', "version": "1"}
    assert decode_config(config, strings=["accessKey"]) == {
        "skipVerify": True,
        "accessKey": "123",
        "region": "us-west-2",
        "tags": {"a": "b"},
    }
