"""Where the official nomad plugin does not keep a promise that ours keeps: each test is expected to fail."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from tests.providers.conformance.worlds import OFFICIAL
from tests.providers.harness import Failed


@dataclass(frozen=True)
class Difference:
    """A test that the official plugin fails, what it is asked about, and why that stays so."""

    test: str
    about: str
    reason: str


_REFUSED = "test_what_cannot_be_is_refused_before_anything_is_done"
_NUMBER = "a number is taken for its text; ours refuses it, since HCL and JSON would not"
_TOPOLOGIES = "empty topologies pass until Nomad sees them; ours refuses them at preview"

DIFFERENCES = (
    Difference(
        "test_many_waits_at_once_leave_the_plugin_answering_and_a_cancel_ends_them_all",
        "nomad",
        "its calls go on after a cancel: the second Ctrl-C ends them; ours ends them within seconds",
    ),
    Difference(
        "test_every_required_input_is_asked_for_by_name",
        "nomad:index/csiVolumeRegistration:CsiVolumeRegistration",
        "its schema does not require capabilities, and without any it crashes; ours refuses that at preview",
    ),
    Difference(_REFUSED, "nomad:index/job:Job hcl2", _NUMBER),
    Difference(_REFUSED, "nomad:index/csiVolumeRegistration:CsiVolumeRegistration secrets", _NUMBER),
    Difference(_REFUSED, "nomad:index/csiVolumeRegistration:CsiVolumeRegistration topologyRequest", _TOPOLOGIES),
    Difference(_REFUSED, "nomad:index/csiVolume:CsiVolume secrets", _NUMBER),
    Difference(_REFUSED, "nomad:index/csiVolume:CsiVolume topologyRequest", _TOPOLOGIES),
    Difference(_REFUSED, "nomad:index/variable:Variable items", "a variable without items passes until Nomad sees it"),
)


def expect(items: Iterable[pytest.Item]) -> list[Difference]:
    """Marks the tests of the table as failing, for an error if one of them passes; returns entries that no test has."""
    left = {(entry.test, OFFICIAL + entry.about): entry for entry in DIFFERENCES}
    asked = set()
    for item in items:
        name, _, about = item.name.partition("[")
        asked.add(name)
        entry = left.pop((name, about.removesuffix("]")), None)
        if entry is not None:
            wrong = (AssertionError, Failed, TimeoutError, pytest.fail.Exception)
            item.add_marker(pytest.mark.xfail(reason=entry.reason, strict=True, raises=wrong))
    return [entry for entry in left.values() if entry.test in asked]
