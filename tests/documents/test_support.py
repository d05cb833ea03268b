"""The page of what is supported names the versions that the project pins and refuses by."""

import tomllib
from pathlib import Path

import pytest

from nomad_stateful.drivers import ebs
from nomad_stateful.nomad import versions
from tools.toolchain import pins

TOP = Path(__file__).parents[2]
ROWS = {
    cells[1].strip(): cells
    for line in (TOP / "docs/support.md").read_text(encoding="utf-8").splitlines()
    if len(cells := line.split("|")) == 6
}


def pinned(package: str) -> str:
    """The version of a package that the wheel requires."""
    project = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(next(one.partition("==")[2] for one in project["dependencies"] if one.startswith(f"{package}==")))


@pytest.mark.parametrize(
    ("row", "cell", "named"),
    [
        ("Nomad", 2, pins.NOMAD_FLOOR.version),
        *(("Nomad", 3, version) for version in pins.NOMADS),
        ("Nomad", 4, f"{versions.ADVISED} or newer is advised"),
        ("EBS driver", 3, ebs.DRIVER.default_version),
        ("Pulumi", 2, f"{pins.PULUMI.suitable.lowest.major}.{pins.PULUMI.suitable.lowest.minor}"),
        ("Pulumi", 3, pins.PULUMI.version),
        ("Pulumi", 3, pins.PULUMI.download_version),
        ("Pulumi", 3, f"SDK {pinned('pulumi')}, aws {pinned('pulumi-aws')}, nomad {pinned('pulumi-nomad')}"),
    ],
)
def test_a_row_names_the_pinned_version(row: str, cell: int, named: str) -> None:
    assert named in ROWS[row][cell]
