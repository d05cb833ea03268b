"""The dashboard: what Grafana needs of it, and expressions that Prometheus takes."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from nomad_stateful.operate.metrics.gauges import GAUGES, PREFIX
from tests.unit.metrics.test_rules import PROMTOOL, TOP, needs_promtool, rules

DASHBOARD = TOP / "metrics" / "dashboard.json"
DRILL = {"drill_success", "drill_timestamp_seconds", "drill_rpo_seconds", "drill_rto_seconds"}
SOURCE = {"type": "prometheus", "uid": "${datasource}"}


def dashboard() -> dict[str, Any]:
    return dict(json.loads(DASHBOARD.read_text(encoding="utf-8")))


def panels() -> list[dict[str, Any]]:
    return [panel for panel in dashboard()["panels"] if panel["type"] != "row"]


def expressions() -> list[str]:
    """What its panels ask, as Prometheus gets it."""
    asked = [target["expr"] for panel in panels() for target in panel["targets"]]
    return [expression.replace("$__rate_interval", "5m") for expression in asked]


def test_the_source_is_chosen_where_it_is_imported() -> None:
    whole = dashboard()
    (variable,) = whole["templating"]["list"]
    assert (variable["name"], variable["type"], variable["query"]) == ("datasource", "datasource", "prometheus")
    # Without an id Grafana makes one.
    assert whole["id"] is None
    for panel in panels():
        assert panel["datasource"] == SOURCE, panel["title"]
        assert all(target["datasource"] == SOURCE for target in panel["targets"]), panel["title"]


def test_panels_have_a_place_of_their_own_and_say_what_they_show() -> None:
    whole = dashboard()["panels"]
    assert len({panel["id"] for panel in whole}) == len(whole)
    taken: set[tuple[int, int]] = set()
    for panel in whole:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
    for panel in panels():
        assert panel["description"].endswith("."), panel["title"]
        letters = [target["refId"] for target in panel["targets"]]
        assert len(set(letters)) == len(letters), panel["title"]


def test_it_shows_metrics_that_are_made() -> None:
    made = {f"{PREFIX}{name}" for name in {*GAUGES, *DRILL}} | {rule.get("record", "") for rule in rules()}
    used = {name for one in expressions() for name in re.findall(r"\bnomad_stateful[\w:]+", one)}
    assert used <= made
    # What nomad-stateful metrics counts is shown, but for the facts that others are joined with.
    assert made - used <= {
        "",
        *(
            f"{PREFIX}{name}"
            for name in (
                "volume_info",
                "volume_snapshot_schedules",
                "dump_scheduled",
                "binlogs_expected",
            )
        ),
        *(f"nomad_stateful:volume_{name}" for name in ("size_bytes", "inodes", "inodes_free")),
    }


def test_its_limits_are_those_of_the_alerts() -> None:
    limits = {rule["alert"]: rule["expr"] for rule in rules() if "alert" in rule}
    shown = {"Bytes used": "VolumeAlmostFull", "Age of the newest dump": "DumpOld"}
    shown |= {"Age of the newest snapshot": "SnapshotOld", "Age of the newest drill": "DrillOld"}
    shown |= {"Binary logs behind": "BinlogsLate"}
    found = {
        panel["title"]: panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
        for panel in panels()
        if panel["title"] in shown
    }
    for title, alert in shown.items():
        assert f"> {found[title][-1]['value']}" in limits[alert]


@needs_promtool
@pytest.mark.parametrize("broken", ["", "sum by (x) ("])
def test_prometheus_takes_every_expression(tmp_path: Path, broken: str) -> None:
    asked = [*expressions(), *([broken] if broken else [])]
    made = [{"record": f"panel:{number}", "expr": one} for number, one in enumerate(asked)]
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": made}]}), encoding="utf-8")
    done = subprocess.run([PROMTOOL, "check", "rules", str(file)], capture_output=True, text=True, check=False)
    assert (done.returncode != 0) == bool(broken), done.stdout + done.stderr
