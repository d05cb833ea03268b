"""The alert rules, by Prometheus' own checker, and what is written about them."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from nomad_stateful.operate.metrics.gauges import GAUGES, PREFIX
from tests.documents.runbook import lacking
from tests.sandbox.alerts.causes import CAUSES
from tests.sandbox.alerts.group_causes import GROUP_CAUSES
from tests.sandbox.alerts.rules import ELSEWHERE, OF_GROUP, scaled, seconds
from tools.packages import find_command

TOP = Path(__file__).parents[3]
RULES = TOP / "metrics" / "rules.yaml"
TESTS = (TOP / "metrics" / "rules_test.yaml", TOP / "metrics" / "rules_long_test.yaml")
PROMTOOL = find_command("promtool") or ""

needs_promtool = pytest.mark.skipif(not PROMTOOL, reason="promtool is not installed (package prometheus)")


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"] for rule in group["rules"]]


def alerts() -> list[dict[str, Any]]:
    return [rule for rule in rules() if "alert" in rule]


def promtool(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [PROMTOOL, "test", "rules", *(str(folder / path.name) for path in TESTS)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@needs_promtool
def test_every_alert_fires_and_clears_as_its_tests_say() -> None:
    done = promtool(RULES.parent)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
def test_the_tests_notice_an_alert_that_never_fires(tmp_path: Path) -> None:
    text = RULES.read_text(encoding="utf-8")
    for path in TESTS:
        (tmp_path / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    known = yaml.safe_load(text)
    for group in known["groups"]:
        for rule in group["rules"]:
            if "alert" in rule:
                rule["expr"] = f"({rule['expr']}) and on () vector(0) > 1"
    (tmp_path / RULES.name).write_text(yaml.safe_dump(known), encoding="utf-8")
    said = promtool(tmp_path)
    assert said.returncode != 0
    for rule in alerts():
        assert f"alertname: {rule['alert']}," in said.stdout + said.stderr


def test_every_alert_is_tested_firing_and_silent() -> None:
    cases = [
        case
        for path in TESTS
        for test in yaml.safe_load(path.read_text(encoding="utf-8"))["tests"]
        for case in test.get("alert_rule_test", [])
    ]
    for rule in alerts():
        own = [bool(case["exp_alerts"]) for case in cases if case["alertname"] == rule["alert"]]
        assert set(own) == {True, False}, rule["alert"]


def test_every_alert_leads_to_a_section_that_says_what_to_do() -> None:
    page = (TOP / "docs" / "metrics.md").read_text(encoding="utf-8")
    anchors = {heading.lower() for heading in re.findall(r"^#+ (\w+)$", page, re.MULTILINE)}
    for rule in alerts():
        assert rule["annotations"]["runbook"] == f"docs/metrics.md#{rule['alert'].lower()}"
        assert rule["alert"].lower() in anchors


def test_every_alert_has_a_cause_in_the_sandbox() -> None:
    """Each is made to fire and to clear there every night: tests/sandbox/test_alerts.py."""
    assert [lacking(test) for test in ELSEWHERE.values()] == [""] * len(ELSEWHERE)
    assert {one.alert for one in CAUSES} | set(ELSEWHERE) == {rule["alert"] for rule in alerts()}
    of_group = {alert for alert, test in ELSEWHERE.items() if test == OF_GROUP}
    assert {one.alert for one in GROUP_CAUSES} == of_group


def test_the_rules_of_that_test_differ_in_their_times_alone() -> None:
    def timeless(rule: dict[str, Any]) -> tuple[Any, ...]:
        kept = {key: value for key, value in rule.items() if key not in ("expr", "for")}
        return "for" in rule, re.sub(r"\b\d+[smhd]?\b", "#", rule["expr"]), kept

    shorter = [rule for group in scaled()["groups"] for rule in group["rules"]]
    assert [timeless(rule) for rule in shorter] == [timeless(rule) for rule in rules()]
    for mine, theirs in zip(shorter, rules(), strict=True):
        if "for" in theirs:
            assert seconds(mine["for"]) <= 10 < seconds(theirs["for"])
    assert "predict_linear(nomad_stateful:volume_available_bytes[30s], 120)" in yaml.safe_dump(shorter, width=1000)


def test_the_rules_use_metrics_that_are_made() -> None:
    drill = {"drill_success", "drill_timestamp_seconds"}
    made = {f"{PREFIX}{name}" for name in {*GAUGES, *drill}}
    used = {name for rule in rules() for name in re.findall(rf"\b{PREFIX}\w+", rule["expr"])}
    assert used <= made
