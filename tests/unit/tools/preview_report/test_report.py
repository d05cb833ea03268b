"""The report on recorded previews, and what must hold for any preview."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nomad_stateful.nomad.job_rendering import RenderError
from nomad_stateful.resource_types import DATA_HOLDERS
from tools.preview_report.cost import load_prices, monthly
from tools.preview_report.document import NoReportError, parse
from tools.preview_report.jobs import from_json, render_jobs
from tools.preview_report.policies import Finding, parse_events
from tools.preview_report.report import MARKER, Report, make_report
from tools.preview_report.values import SECRET
from tools.preview_report.verdict import HARMLESS

RECORDED = Path(__file__).with_name("recorded")
GREEN = ["first-deployment", "grow", "memory", "no-change", "tag"]
RED = ["deletion", "policy", "refused", "zone-change", "zone-change-in-use"]
LOSING = ["deletion", "zone-change", "zone-change-in-use"]
LABEL = "allow-data-loss"
PRICES = load_prices()


def report_on(name: str, *labels: str) -> Report:
    """The report on a recorded preview."""
    events = RECORDED / f"{name}.events"
    findings = parse_events(events.read_text(encoding="utf-8")) if events.exists() else []
    jobs = from_json(json.loads((RECORDED / f"{name}.jobs.json").read_text(encoding="utf-8")))
    preview = parse((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
    return make_report(preview, jobs, labels, findings, PRICES)


def report_of(*steps: dict[str, Any], labels: tuple[str, ...] = (), diagnostics: list[Any] | None = None) -> Report:
    """The report on a preview with these steps."""
    document = {"steps": list(steps), "diagnostics": diagnostics or [], "changeSummary": {}}
    return make_report(parse(json.dumps(document)), [], labels, [], PRICES)


def step(operation: str, resource_type: str, name: str = "thing", **states: Any) -> dict[str, Any]:
    """A step as the engine prints it."""
    return {"op": operation, "urn": f"urn:pulumi:dev::project::{resource_type}::{name}", **states}


@pytest.mark.parametrize("name", GREEN + RED)
def test_a_recorded_preview_gives_the_recorded_report(name: str) -> None:
    golden = RECORDED / f"{name}.md"
    text = report_on(name).text
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8"), "run pytest with UPDATE_GOLDEN=1 and read the diff"


@pytest.mark.parametrize("name", GREEN)
def test_a_harmless_preview_is_green(name: str) -> None:
    assert report_on(name).verdict.is_green


@pytest.mark.parametrize("name", RED)
def test_a_preview_that_loses_data_or_is_refused_is_red(name: str) -> None:
    assert not report_on(name).verdict.is_green


@pytest.mark.parametrize("name", LOSING)
def test_the_label_turns_a_loss_of_data_green_with_a_warning(name: str) -> None:
    report = report_on(name, "unrelated", LABEL)
    assert report.verdict.is_green
    assert "would be deleted" in report.verdict.warnings[0]
    assert "⚠️" in report.text


@pytest.mark.parametrize("name", ["policy", "refused"])
def test_the_label_allows_nothing_but_the_loss_of_data(name: str) -> None:
    assert not report_on(name, LABEL).verdict.is_green


def test_a_move_between_zones_says_that_the_new_volume_is_empty() -> None:
    assert "`ebs-archive-us-west-2a` takes its place in us-west-2a, and starts empty" in report_on("zone-change").text


def test_a_replaced_gate_warns_that_its_job_is_stopped() -> None:
    warnings = report_on("zone-change-in-use", LABEL).verdict.warnings
    assert any(warning.startswith("`mysql-volume-release` is replaced") for warning in warnings)


def test_a_refused_preview_shows_the_refusal() -> None:
    assert "volumes.archive.zone is us-west-2f: the region us-west-2 has no such zone" in report_on("refused").text


def test_a_growing_volume_has_its_price_before_and_after() -> None:
    assert "| `ebs-mysql-us-west-2a` | 1 GiB gp3 | 20 GiB gp3 | 0.08 | 1.60 |" in report_on("grow").text


def test_the_first_deployment_shows_neither_a_secret_nor_a_placeholder() -> None:
    text = report_on("first-deployment").text
    assert "`items` |  | `[secret]`" in text
    assert "(known after apply)" in text
    assert "04da6b54-80e4" not in text


@given(
    operation=st.sampled_from(["delete", "replace", "create-replacement", "delete-replaced", "discard"])
    | st.text(min_size=1).filter(lambda text: text not in HARMLESS),
    resource_type=st.sampled_from(sorted(DATA_HOLDERS)),
    others=st.lists(
        st.tuples(st.sampled_from(sorted(HARMLESS)), st.sampled_from(["nomad:index/job:Job", *DATA_HOLDERS]), st.text())
    ),
    place=st.integers(0, 10),
    inputs=st.dictionaries(st.text(), st.text() | st.booleans() | st.integers() | st.none()),
    retained=st.booleans(),
)
def test_any_loss_of_data_is_red_without_the_label(
    operation: str,
    resource_type: str,
    others: list[tuple[str, str, str]],
    place: int,
    inputs: dict[str, Any],
    retained: bool,
) -> None:
    state = {"type": resource_type, "inputs": inputs, "outputs": {}, "retainOnDelete": retained}
    steps = [step(*other) for other in others]
    steps.insert(place, step(operation, resource_type, "the-one", oldState=state))
    report = report_of(*steps)
    assert not report.verdict.is_green
    assert "the-one" in report.text


@given(resource_type=st.sampled_from(sorted(DATA_HOLDERS)), operation=st.sampled_from(["delete", "replace"]))
def test_a_resource_under_a_component_is_recognised_by_its_urn_alone(resource_type: str, operation: str) -> None:
    assert not report_of(step(operation, f"project:index:Parent${resource_type}")).verdict.is_green


@given(secret=st.text(st.characters(categories=["L", "N"]), min_size=12), deep=st.booleans())
def test_a_secret_that_came_in_clear_is_not_shown(secret: str, deep: bool) -> None:
    sealed = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "plaintext": json.dumps(secret)}
    value = {"inner": [sealed]} if deep else sealed
    old = {"type": "x:y:Z", "inputs": {"value": secret}}
    new = {"type": "x:y:Z", "inputs": {"value": value}}
    report = report_of(step("update", "x:y:Z", oldState=old, newState=new))
    assert secret not in report.text
    assert SECRET in report.text


def test_properties_that_are_secret_by_their_meaning_are_hidden_even_when_unmarked() -> None:
    variable = {"type": "nomad:index/variable:Variable", "inputs": {"items": {"root_password": "hunter2hunter2"}}}
    assert "hunter2" not in report_of(step("create", "nomad:index/variable:Variable", newState=variable)).text


def test_an_output_marked_secret_hides_the_input_of_that_name() -> None:
    state = {"type": "x:y:Z", "inputs": {"key": "hunter2hunter2"}, "additionalSecretOutputs": ["key"]}
    assert "hunter2" not in report_of(step("create", "x:y:Z", newState=state)).text


def test_text_of_a_pull_request_cannot_break_out_of_the_table() -> None:
    evil = "a | b\n## 🟢 fine `` ` <!-- --> @someone"
    state = {"type": "x:y:Z", "inputs": {"value": evil}}
    text = report_of(step("create", "x:y:Z", newState=state)).text
    assert "\n## 🟢 fine" not in text
    assert "a \\| b" in text
    assert text.startswith(MARKER)


def test_a_report_never_grows_beyond_what_a_comment_may_hold() -> None:
    state = {"type": "x:y:Z", "inputs": {f"key{number}": "x" * 100 for number in range(60)}}
    loss = step("delete", "aws:ebs/volume:Volume", "the-volume")
    text = report_of(loss, *(step("create", "x:y:Z", f"n{number}", newState=state) for number in range(30))).text
    assert len(text) < 65536
    assert "the-volume" in text


@pytest.mark.parametrize("text", ["", "not json", "[]", "{}", '{"steps": [1]}', '{"steps": [{"op": "same"}]}'])
def test_what_is_not_a_preview_is_named_so(text: str) -> None:
    with pytest.raises(NoReportError, match="the preview"):
        parse(text)


def test_a_failed_preview_is_red_though_it_plans_nothing() -> None:
    assert not report_of(diagnostics=[{"severity": "error", "message": "error: no"}]).verdict.is_green


def test_only_mandatory_findings_make_it_red() -> None:
    preview = parse('{"steps": []}')
    advice, rule = (Finding("pack/rule", level, "thing", "no") for level in ("advisory", "mandatory"))
    assert make_report(preview, [], (), [advice], PRICES).verdict.is_green
    assert not make_report(preview, [], (), [advice, rule], PRICES).verdict.is_green


@pytest.mark.parametrize(
    ("inputs", "price"),
    [
        ({"type": "gp3", "size": 100}, 8.0),
        ({"type": "gp3", "size": 100, "iops": 4000, "throughput": 225}, 8 + 5 + 4),
        ({"type": "io2", "size": 10, "iops": 33000}, 1.25 + 32000 * 0.065 + 1000 * 0.0455),
        ({"size": 10}, 1.0),
        ({"type": "gp3", "size": "04da6b54-80e4-46f7-96ec-b56ff0331ba9"}, None),
        ({"type": "new", "size": 1}, None),
    ],
)
def test_the_price_of_a_volume(inputs: dict[str, Any], price: float | None) -> None:
    found = monthly(inputs, PRICES)
    assert found == (None if price is None else pytest.approx(price))


def test_a_job_keeps_its_old_value_where_the_new_one_is_not_known_yet() -> None:
    seen: list[dict[str, str]] = []

    def render(_text: str, variables: dict[str, str]) -> dict[str, Any]:
        seen.append(variables)
        return {"ID": "mysql", "Null": None}

    preview = parse((RECORDED / "zone-change-in-use.json").read_text(encoding="utf-8"))
    (job,) = render_jobs(preview, render)
    assert seen[0]["volume"] == seen[1]["volume"]
    assert job.after == {"ID": "mysql"}
    assert job.notes == ("the variable `volume` is known only after the update: shown as it is",)


def test_a_job_that_nomad_refuses_is_told_and_not_fatal() -> None:
    def render(_text: str, _variables: dict[str, str]) -> dict[str, Any]:
        raise RenderError("no such function")

    preview = parse((RECORDED / "memory.json").read_text(encoding="utf-8"))
    (job,) = render_jobs(preview, render)
    assert (job.before, job.after) == (None, None)
    assert "cannot be rendered: no such function" in job.notes[0]


def test_the_page_for_reviewers_names_everything_that_holds_data() -> None:
    page = (Path(__file__).parents[4] / "docs/pull-requests.md").read_text(encoding="utf-8")
    assert [token for token in DATA_HOLDERS if f"`{token}`" not in page] == []
    assert f"**`{LABEL}`**" in page


def test_a_job_file_that_is_as_unknown_as_its_variable_is_rendered_from_the_old_text() -> None:
    texts: list[str] = []

    def render(text: str, _variables: dict[str, str]) -> dict[str, Any]:
        texts.append(text)
        return {"ID": "mysql"}

    recorded = json.loads((RECORDED / "zone-change-in-use.json").read_text(encoding="utf-8"))
    for step in recorded["steps"]:
        if step.get("newState", {}).get("type") == "nomad:index/job:Job":
            step["newState"]["inputs"]["jobspec"] = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
    (job,) = render_jobs(parse(json.dumps(recorded)), render)
    assert job.after == {"ID": "mysql"}
    assert texts[0] == texts[1]
