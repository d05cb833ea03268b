"""The failover bench: phases out of moments, the table and picture of them, and what must never be."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.docker import agent
from tools.bench import page
from tools.bench.failover import __main__ as bench
from tools.bench.failover import losses, results
from tools.bench.failover.results import Failover

ONE = Failover(
    settings="defaults",
    loss="terminated",
    repetition=1,
    off_s=1.0,
    unmounted_s=0.5,
    down_s=7.0,
    placed_s=97.0,
    released_s=12.0,
    detached_s=1.0,
    attached_s=98.0,
    started_s=98.5,
    acknowledged_s=100.0,
    lost_rows=0,
    second_writers=0,
    detached_while_mounted=0,
)
PROJECT = Path(__file__).parents[4]


def test_a_phase_that_ended_before_the_one_before_it_took_no_time() -> None:
    assert dict(ONE.phases()) == {
        "detection": 7.0,
        "wait": 90.0,
        "claim": 0.0,
        "detach": 0.0,
        "attach": 1.0,
        "start": 0.5,
        "recovery": 1.5,
    }


def test_phases_make_up_the_time_to_the_first_row() -> None:
    late = replace(ONE, placed_s=8.0, released_s=12.0, detached_s=15.0, attached_s=17.0, started_s=18.0)
    assert sum(seconds for _, seconds in late.phases()) == late.acknowledged_s


def test_what_is_written_is_read_with_all_settings(tmp_path: Path) -> None:
    short = replace(ONE, settings="short", acknowledged_s=52.0)
    results.write(tmp_path, "short", [short])
    results.write(tmp_path, "defaults", [ONE])
    assert results.read(tmp_path) == [ONE, short]


def test_the_table_has_medians_with_their_spread_and_counts_what_must_not_be() -> None:
    others = [replace(ONE, acknowledged_s=90.0), replace(ONE, acknowledged_s=110.0, second_writers=2, lost_rows=1)]
    (line,) = results.table([ONE, *others]).splitlines()[2:]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[:4] == ["terminated", results.SETTINGS["defaults"], "3", "**100.0 (90.0 to 110.0)**"]
    assert cells[-2:] == ["1", "2"]


def test_it_is_said_where_a_person_fenced() -> None:
    assert results.title("watched", "agent dead").endswith("; fenced by hand")
    assert results.title("fenced", "agent dead") == results.SETTINGS["fenced"]
    assert results.title("watched", "cut off") == results.SETTINGS["watched"]


def test_the_page_shows_what_was_measured(tmp_path: Path) -> None:
    (tmp_path / page.MACHINE).write_text("{}")
    results.write(tmp_path, "defaults", [ONE])
    assert results.table([ONE]) in page.rendered("<!-- bench: failover -->\nold\n<!-- end -->\n", tmp_path)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"second_writers": 1}, "two instances had the volume mounted"),
        ({"lost_rows": 3}, "3 acknowledged rows are missing"),
        ({"detached_while_mounted": 1}, "EC2 was asked to detach a volume that was mounted"),
    ],
)
def test_a_broken_promise_fails_the_bench(broken: dict[str, Any], said: str) -> None:
    terminated = losses.ALL[0]
    assert bench.wrong(ONE, terminated) == []
    (problem,) = bench.wrong(replace(ONE, **broken), terminated)
    assert said in problem


def test_a_client_that_is_cut_off_may_have_its_mounted_volume_detached_but_no_second_writer() -> None:
    (cut,) = [loss for loss in losses.ALL if loss.name == "cut off"]
    assert bench.wrong(replace(ONE, detached_while_mounted=1), cut) == []
    assert bench.wrong(replace(ONE, second_writers=1), cut)


def test_every_loss_has_a_place_on_the_page() -> None:
    assert tuple(loss.name for loss in losses.ALL) == results.LOSSES


@pytest.mark.parametrize(("settings", "times"), [("earlier", ("60s", "2m")), ("short", ("10s", "30s")), ("fenced", ())])
def test_the_stack_is_measured_with_the_times_that_are_named(settings: str, times: tuple[str, ...]) -> None:
    text = bench.configure((PROJECT / "Pulumi.dev.yaml").read_text(encoding="utf-8"), settings)
    found = [line.split(": ")[1] for line in text.splitlines() if "killTimeout" in line or "stopAfterDis" in line]
    assert tuple(found) == times


def test_the_deployed_watch_runs_in_the_agents_image() -> None:
    text = bench.configure((PROJECT / "Pulumi.dev.yaml").read_text(encoding="utf-8"), "deployed-fenced")
    config = yaml.safe_load(text)["config"]
    assert config["nomad-stateful:failover"] == {"count": 2, "fence": True}
    assert config["nomad-stateful:agentImage"] == f"{agent.REPOSITORY}:{agent.tag()}"
