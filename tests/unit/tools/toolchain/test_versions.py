"""Which versions programs are read to have, and which are suitable."""

from __future__ import annotations

import pytest

from tools.toolchain.pins import NOMAD, PULUMI
from tools.toolchain.versions import Version, parse_version


@pytest.mark.parametrize(
    ("output", "version"),
    [
        ("v3.200.0\n", Version(3, 200, 0)),
        ("Nomad v1.11.0\nBuildDate 2025-11-11T16:18:19Z\nRevision abc\n", Version(1, 11, 0)),
        ("Nomad v1.10.5+ent\n", Version(1, 10, 5)),
        ("go1.26.8\n", Version(1, 26, 8)),
        ("go1.27rc1", Version(1, 27, 0, is_release=False)),
        ("v3.201.0-alpha.1+dirty", Version(3, 201, 0, is_release=False)),
        ("warning: something\nv3.205.1", Version(3, 205, 1)),
    ],
)
def test_version_is_read_from_what_programs_print(output: str, version: Version) -> None:
    assert parse_version(output) == version


@pytest.mark.parametrize("output", ["", "command not found", "3", "10.0.0.1:4646"])
def test_text_without_a_version_has_none(output: str) -> None:
    assert parse_version(output) is None


def test_a_pre_release_comes_before_its_release() -> None:
    assert Version(1, 10, 0, is_release=False) < Version(1, 10, 0)


@pytest.mark.parametrize("text", ["v3.200.0", "v3.272.1", "v3.999.0"])
def test_pulumi_of_the_range_is_suitable(text: str) -> None:
    assert parse_version(text) in PULUMI.suitable


@pytest.mark.parametrize("text", ["v3.199.9", "v3.200.0-rc.1", "v4.0.0", "v4.0.0-alpha.1", "v2.25.0"])
def test_pulumi_outside_the_range_is_not_suitable(text: str) -> None:
    assert parse_version(text) not in PULUMI.suitable


@pytest.mark.parametrize(
    ("text", "suitable"), [("1.10.5", False), ("1.11.1", False), ("1.11.2", True), ("2.4.1", True), ("3.0.0", False)]
)
def test_nomad_is_suitable_from_1_11_2_up_to_2(text: str, suitable: bool) -> None:
    assert (parse_version(text) in NOMAD.suitable) is suitable
