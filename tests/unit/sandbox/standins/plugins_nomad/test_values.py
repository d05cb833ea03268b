"""Sizes, durations, inputs and CSI shapes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nomad_stateful.errors import ProviderError
from nomad_stateful.plugin_server.values import UNKNOWN
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.nomad.capacity import format_bytes, parse_bytes
from sandbox.standins.plugins.nomad.csi_fields import volume_body, volume_changes, volume_outputs
from sandbox.standins.plugins.nomad.inputs import Field, autoname, checked, plain, refreshed_inputs
from sandbox.standins.plugins.nomad.job_outputs import go_duration, planned_outputs, registered_outputs
from sandbox.standins.plugins.nomad.job_state import import_identity
from sandbox.standins.plugins.nomad.jobspec import JobSource

GIB = 2**30


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("10GiB", 10 * GIB),
        ("10 gib", 10 * GIB),
        ("1.5Gi", 3 * GIB // 2),
        ("2GB", 2 * 10**9),
        ("1,024", 1024),
        ("5k", 5000),
    ],
)
def test_sizes_are_read_as_people_write_them(text: str, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize("text", ["", "ten", "10 Xi", "-1GiB", "10GiB extra", "9e9", "9000000TiB"])
def test_other_sizes_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"unable to parse|too large"):
        parse_bytes(text)


@pytest.mark.parametrize(
    ("size", "text"), [(5, "5 B"), (GIB, "1.0 GiB"), (10 * GIB, "10 GiB"), (3 * GIB // 2, "1.5 GiB")]
)
def test_sizes_are_shown_as_in_the_official_state(size: int, text: str) -> None:
    assert format_bytes(size) == text


@given(st.integers(min_value=0, max_value=2**62))
def test_a_shown_size_is_shown_the_same_again(size: int) -> None:
    shown = format_bytes(size)
    assert format_bytes(parse_bytes(shown)) == shown


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0s"),
        (30 * 10**9, "30s"),
        (600 * 10**9, "10m0s"),
        (3600 * 10**9, "1h0m0s"),
        (1_500_000_000, "1.5s"),
        (250_000_000, "250ms"),
        (1500, "1.5µs"),
        (7, "7ns"),
        (-(10**9), "-1s"),
    ],
)
def test_durations_are_written_as_go_does(nanoseconds: int, text: str) -> None:
    assert go_duration(nanoseconds) == text


def test_a_registered_job_without_optional_parts_has_all_outputs() -> None:
    outputs = registered_outputs({"ID": "a", "TaskGroups": [{"Name": "g"}], "JobModifyIndex": 7})
    assert (outputs["modifyIndex"], outputs["periodicConfigs"], outputs["updateStrategies"]) == ("7", [], [])
    assert outputs["taskGroups"][0] == {
        "name": "g",
        "count": 1,
        "meta": {},
        "tasks": [],
        "volumes": [],
        "updateStrategies": [],
    }


def test_volumes_of_a_group_are_sorted_by_name() -> None:
    volumes = {"b": {"Name": "b", "Type": "csi", "Source": "s"}, "a": {"Name": "a"}}
    group = planned_outputs({"ID": "j", "TaskGroups": [{"Name": "g", "Volumes": volumes}]})["taskGroups"][0]
    assert [volume["name"] for volume in group["volumes"]] == ["a", "b"]


def test_what_a_jobspec_leaves_out_is_unknown_until_nomad_has_the_job() -> None:
    planned = planned_outputs({"ID": "j", "TaskGroups": [{"Name": "g", "Update": {"MinHealthyTime": 10**9}}]})
    assert [planned[name] for name in ("type", "region", "datacenters")] == [UNKNOWN] * 3
    assert planned["taskGroups"][0]["meta"] is UNKNOWN
    update = planned["taskGroups"][0]["updateStrategies"][0]
    assert (update["minHealthyTime"], update["healthyDeadline"]) == ("1s", "5m0s")


@pytest.mark.parametrize("bad", ["job", "@ns", "job@"])
def test_an_import_id_names_its_namespace(bad: str) -> None:
    with pytest.raises(ProviderError, match=r"[Ii]mport"):
        import_identity(bad)


def test_the_last_at_sign_of_an_import_id_counts() -> None:
    assert import_identity("a@b@ns") == ("a@b", "ns")


def test_a_source_with_an_unknown_part_is_no_source() -> None:
    assert JobSource.from_inputs({"jobspec": UNKNOWN}) is None
    assert JobSource.from_inputs({"jobspec": "x", "hcl2": UNKNOWN}) is None
    assert JobSource.from_inputs({"jobspec": "x", "hcl2": {"vars": {"a": UNKNOWN}}}) is None
    assert JobSource.from_inputs({"jobspec": "x", "hcl2": {"vars": {"b": "2", "a": "1"}}}) == JobSource(
        "x", variables=(("a", "1"), ("b", "2"))
    )


def test_defaults_are_filled_in_and_recorded() -> None:
    fields = {"a": Field("bool", default=True), "b": Field("string"), "c": Field("bool", default=False)}
    inputs, failures = checked(fields, {"a": "false", "b": None}, "t")
    assert (inputs, failures) == ({"a": False, "c": False, "__defaults": ["c"]}, [])


def test_a_wrong_shape_is_refused_without_its_value() -> None:
    failures = checked({"a": Field("map"), "b": Field("bool")}, {"a": "swordfish", "b": 1}, "t")[1]
    assert [(failure.property, "swordfish" in failure.reason) for failure in failures] == [("", False), ("", False)]


def test_a_name_from_before_defaults_were_recorded_stays() -> None:
    assert autoname(Context(name="n"), {"name": "old"}, {"__defaults": []})["name"] == "old"
    assert autoname(Context(name="n"), {"name": "mine", "__defaults": []}, {"__defaults": []})["name"] != "mine"


def test_a_refresh_updates_only_what_was_given() -> None:
    assert refreshed_inputs({"a": 1, "gone": 2, "__defaults": []}, {"a": 3, "b": 4}) == {
        "a": 3,
        "gone": 2,
        "__defaults": [],
    }


def test_bookkeeping_is_dropped_at_every_depth() -> None:
    assert plain({"__defaults": [], "a": {"__defaults": ["x"], "b": None, "c": [{"__d": 1, "e": 2}]}}) == {
        "a": {"c": [{"e": 2}]}
    }


INPUTS: dict[str, Any] = {
    "volumeId": "v",
    "name": "v",
    "pluginId": "p",
    "capabilities": [{"accessMode": "single-node-writer", "attachmentMode": "file-system"}],
    "capacityMin": "1GiB",
    "topologyRequest": {"required": {"topologies": [{"segments": {"zone": "a"}}]}, "__defaults": []},
}


def test_a_volume_body_has_nomads_names() -> None:
    body = volume_body(INPUTS)
    assert body["RequestedCapacityMin"] == GIB
    assert body["RequestedTopologies"] == {"Required": [{"Segments": {"zone": "a"}}]}
    assert "MountOptions" not in body


def test_a_volume_that_reads_as_it_was_written_has_no_changes() -> None:
    body = volume_body(INPUTS)
    state = volume_outputs(body | {"Topologies": [{"Segments": {"zone": "a"}}]}, INPUTS)
    assert volume_changes(state, INPUTS, INPUTS) == {}
    assert volume_changes(state, INPUTS | {"capacityMin": "1024MiB"}, INPUTS) == {}
    assert set(volume_changes(state, INPUTS | {"capacityMin": "2GiB"}, INPUTS)) == {"capacityMin"}
    assert set(volume_changes(state, INPUTS | {"capacityMin": UNKNOWN}, INPUTS)) == {"capacityMin"}


def test_a_segment_of_another_value_is_a_change_at_its_path() -> None:
    moved = INPUTS | {"topologyRequest": {"required": {"topologies": [{"segments": {"zone": "b"}}]}}}
    assert set(volume_changes(INPUTS, moved, INPUTS)) == {"topologyRequest.required.topologies[0].segments.zone"}
