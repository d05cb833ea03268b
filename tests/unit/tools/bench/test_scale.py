"""Growth with the number of volumes: what is made, what is kept, and what is said and drawn of it."""

import math
import subprocess
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from tools.bench import growth, page, rows, scale, tables
from tools.bench.growth import Measured
from tools.bench.usage import Usage


def measured(volumes: int, command: str, seconds: float, consumers: int = 1) -> Measured:
    asked = (43 + 4 * volumes, 8 + 3 * volumes)
    return Measured(volumes, consumers, command, seconds, seconds / 2, 100 + volumes, 80, 90, 50, 40, *asked)


FOUND = [measured(number, command, 2 * number**1.5) for number in (1, 4, 16) for command in growth.COMMANDS]


def test_rows_survive_their_file(tmp_path: Path) -> None:
    rows.write(tmp_path / "new/scale.csv", Measured, FOUND, digits=2)
    assert rows.read(tmp_path / "new/scale.csv", Measured) == FOUND
    assert rows.read(tmp_path / "none.csv", Measured) == []


def test_the_fit_is_a_power_of_the_number_of_volumes() -> None:
    exponent, factor = growth.fit(growth.of_command(FOUND, "up"))
    assert [exponent, factor] == pytest.approx([1.5, 2])
    assert growth.fit([measured(volumes, "up", 7) for volumes in (1, 10, 100)])[0] == pytest.approx(0)


def test_one_size_has_no_fit() -> None:
    assert math.isnan(growth.fit([measured(10, "up", 7), measured(10, "up", 8, consumers=5)])[0])


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_table_has_a_line_for_each_size_and_the_fit() -> None:
    _, _, *lines = tables.scale(FOUND).splitlines()
    assert [cells(line)[0] for line in lines] == ["1, 1", "4, 1", "16, 1", "fit of all", "fit of 4 and 16"]
    assert cells(lines[1]) == ["4, 1", *["**16.0** (8.0)"] * 3, "59, 20", "14.8, 5.0", "-", "-"]
    assert cells(lines[-1])[1:4] == ["n^1.50"] * 3


def test_how_it_goes_on_is_said_by_the_two_largest_sizes() -> None:
    found = [measured(volumes, "up", seconds) for volumes, seconds in ((1, 20), (10, 20), (100, 2000))]
    *_, of_all, of_largest = tables.scale(found).splitlines()
    assert (cells(of_all)[1], cells(of_largest)[1]) == ("n^1.00", "n^2.00")


def test_the_table_of_a_run_that_broke_off_shows_what_there_is() -> None:
    lines = tables.scale([*FOUND[:3], measured(4, "preview", 5)]).splitlines()
    assert cells(lines[3])[1:] == ["-", "**5.0** (2.5)", *["-"] * 5]
    assert cells(lines[4])[1:4] == ["-", "n^0.66", "-"]
    assert tables.scale([]) == tables.NOT_YET


def test_the_state_is_told_for_the_whole_and_for_each_volume() -> None:
    found = replace(measured(50, "up", 9), resources=220, state_bytes=365_000)
    assert cells(tables.scale([found]).splitlines()[2])[-2:] == ["220, 365", "4.4, 7.3"]


def test_memory_is_the_most_of_each_process_in_any_command() -> None:
    up = replace(measured(50, "up", 9), engine_mib=300, nomad_plugin_mib=60, language_host_mib=25)
    destroy = replace(measured(50, "destroy", 9), engine_mib=250, program_mib=0, nomad_plugin_mib=70)
    _, _, line = tables.memory([up, destroy]).splitlines()
    assert cells(line) == ["50, 1", "300", "25", "80", "90", "70", "40"]
    assert cells(tables.memory([measured(50, "up", 9)]).splitlines()[2])[2] == "-"
    assert tables.memory([]) == tables.NOT_YET


def test_columns_that_a_file_does_not_have_are_not_measured(tmp_path: Path) -> None:
    file = tmp_path / "scale.csv"
    rows.write(file, Measured, [replace(measured(1, "up", 9), resources=7)], digits=2)
    header, row = (line.rsplit(",", 3)[0] for line in file.read_text().splitlines())
    file.write_text(f"{header}\n{row}\n")
    assert rows.read(file, Measured) == [measured(1, "up", 9)]


def test_a_command_that_does_not_end_is_given_up_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale, "_TIMEOUT_S", 0.2)
    monkeypatch.setattr(scale, "_SAY_EVERY_S", 0.1)
    with subprocess.Popen(["sleep", "60"], stdout=subprocess.PIPE, text=True) as process:
        usage = Usage(process.pid)
        with pytest.raises(SystemExit, match="300x20 up: given up"):
            scale._output(process, "300x20 up", usage)
        process.kill()


def test_the_page_has_the_table_of_what_was_measured(tmp_path: Path) -> None:
    (tmp_path / page.MACHINE).write_text("{}")
    template = "<!-- bench: scale -->\nold\n<!-- end -->\n"
    assert tables.NOT_YET in page.rendered(template, tmp_path)
    rows.write(tmp_path / page.SCALE, Measured, FOUND, digits=2)
    assert tables.scale(FOUND) in page.rendered(template, tmp_path)


def test_volumes_are_spread_over_the_zones_and_the_first_have_consumers() -> None:
    template = {"encryptionsalt": "v1:x", "config": {"nomad-stateful:mysql": {}, "aws:region": "us-west-2"}}
    made = scale.stack_config(template, volumes=4, consumers=2)
    assert made["encryptionsalt"] == "v1:x"
    assert set(made["config"]) == {"aws:region", "nomad-stateful:volumes", "nomad-stateful:consumers"}
    zones = [volume["zone"] for volume in made["config"]["nomad-stateful:volumes"]]
    assert zones == [*scale.ZONES, scale.ZONES[0]]
    mounted = [one["mounts"][0]["volume"] for one in made["config"]["nomad-stateful:consumers"]]
    assert mounted == ["v0", "v1"]


def test_the_sandbox_has_clients_in_every_zone() -> None:
    made = tomllib.loads(scale.sandbox_toml())
    assert made["zones"] == list(scale.ZONES)
    assert sorted(one["zone"] for one in made["instances"]) == sorted(scale.ZONES * scale.CLIENTS_PER_ZONE)
    assert len({one["name"] for one in made["instances"]}) == len(made["instances"])


def test_a_size_is_read_from_a_word() -> None:
    assert scale.size("50x5") == (50, 5)
    with pytest.raises(ValueError, match="VOLUMESxCONSUMERS"):
        scale.size("50")
