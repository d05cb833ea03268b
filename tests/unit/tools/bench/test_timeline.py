"""Where the time of one `up` goes: spans out of what is looked at, and the picture of them."""

import json
from pathlib import Path
from typing import Any, cast
from xml.etree import ElementTree as ET

import pytest

from nomad_stateful.nomad.api import NomadApi, NomadApiError
from tools.bench import page, timeline, timeline_figure
from tools.bench.process_tree import Process
from tools.bench.timeline import NomadSide, Operations, Processes, Span
from tools.bench.timeline_figure import critical_path

SVG = "{http://www.w3.org/2000/svg}"
EPOCH = 1_000_000.0


class Clock(timeline.Clock):
    """Stands still until it is set."""

    def __init__(self) -> None:
        self.epoch = EPOCH
        self.at = 0.0

    def now(self) -> float:
        return self.at


def event(kind: str, resource: str, name: str, op: str = "create") -> bytes:
    urn = f"urn:pulumi:dev::project::{resource}::{name}"
    return json.dumps({kind: {"metadata": {"urn": urn, "type": resource, "op": op}}}).encode() + b"\n"


def test_operations_are_timed_by_when_their_events_are_seen(tmp_path: Path) -> None:
    clock, log = Clock(), tmp_path / "events"
    operations = Operations(clock, log)
    operations.look()
    begun = event("resourcePreEvent", "aws:ebs/volume:Volume", "mysql")
    log.write_bytes(begun[:20])
    operations.look()
    with log.open("ab") as file:
        clock.at = 2.0
        file.write(begun[20:] + event("resourcePreEvent", "nomad:index/job:Job", "db"))
        file.flush()
        operations.look()
        clock.at = 3.5
        file.write(b'{"stdoutEvent": {}}\n' + event("resOutputsEvent", "aws:ebs/volume:Volume", "mysql"))
    operations.look()
    assert operations.spans() == [Span("engine", "Volume mysql", 2.0, 3.5)]


@pytest.mark.parametrize(("kind", "op"), [("random:index:Id", "create"), ("aws:ebs/volume:Volume", "same")])
def test_operations_of_others_and_those_without_a_change_are_left_out(tmp_path: Path, kind: str, op: str) -> None:
    log = tmp_path / "events"
    log.write_bytes(event("resourcePreEvent", kind, "x", op) + event("resOutputsEvent", kind, "x", op))
    operations = Operations(Clock(), log)
    operations.look()
    assert operations.spans() == []


def test_processes_last_from_first_to_last_sight(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    processes = Processes(clock, 1)
    seen = {
        1.0: [Process(7, "engine", 0, 0), Process(9, "blink", 0, 0)],
        2.0: [Process(7, "program", 0, 0)],
        3.0: [Process(7, "", 0, 0)],
    }
    monkeypatch.setattr(timeline, "process_tree", lambda _root: seen[clock.at])
    for clock.at in seen:
        processes.look()
    assert processes.spans() == [Span("processes", "program", 1.0, 3.0)]


def allocation(job: str, created: float, started: float | None) -> dict[str, Any]:
    events = [] if started is None else [{"Type": "Started", "Time": int((EPOCH + started) * 1e9)}]
    return {
        "ID": f"{job}-1",
        "JobID": job,
        "NodeID": "abc",
        "NodeName": "client-1",
        "ClientStatus": "running",
        "CreateTime": int((EPOCH + created) * 1e9),
        "TaskStates": {"task": {"Events": events}},
    }


class Api:
    """Answers what it is given; everything else is an error of Nomad's."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers

    def get(self, path: str, **_: Any) -> Any:
        if path not in self.answers:
            raise NomadApiError(404, f"no {path}")
        return self.answers[path]


def nomad_side(clock: Clock, **answers: Any) -> NomadSide:
    return NomadSide(clock, cast("NomadApi", Api(**answers)), "ebs", "mysql")


def test_the_moment_of_health_is_the_first_it_was_seen_at_each_node() -> None:
    clock = Clock()
    controllers = {"abc": {"Healthy": False}}
    plugin = {"Controllers": controllers, "Nodes": {"abc": {"Healthy": True}, "def": None}}
    side = nomad_side(clock, **{"plugin/csi/ebs": plugin})
    clock.at = 4.0
    side.look()
    controllers["abc"]["Healthy"] = True
    clock.at = 5.0
    side.look()
    assert side.moments == {"node abc": 4.0, "controller abc": 5.0}


def test_nothing_is_seen_of_a_nomad_that_does_not_answer_yet() -> None:
    side = nomad_side(Clock(), **{"job/mysql/allocations": [allocation("mysql", 1, 2)]})
    side.look()
    assert side.moments == {}


def test_the_server_answers_once_its_port_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, asked = Clock(), []
    ports = {"AllocatedResources": {"Shared": {"Ports": [{"HostIP": "10.0.0.1", "Value": 3306}]}}}
    answers = {"job/mysql/allocations": [allocation("mysql", 1, 2)], "allocation/mysql-1": ports}
    side = nomad_side(clock, **answers)

    def is_open(address: tuple[str, int]) -> bool:
        asked.append(address)
        return clock.at >= 6

    monkeypatch.setattr(timeline, "is_open", is_open)
    for clock.at in (5.0, 6.0, 7.0):
        side.look()
    assert side.moments == {"MySQL": 6.0}
    assert asked == [("10.0.0.1", 3306)] * 2


def test_nomads_side_is_made_of_allocations_of_this_run_and_of_moments() -> None:
    stubs = [
        allocation("plugin-ebs-controller", 1, 2),
        allocation("plugin-ebs-node", -50, -40),
        allocation("plugin-ebs-node", 1, None),
        allocation("mysql", 14, 15),
    ]
    moments = {"controller abc": 12.0, "node abc": 0.5, "MySQL": 16.0}
    assert timeline.nomad_spans(stubs, moments, Clock(), "mysql") == [
        Span("nomad", "plugin-ebs-controller starting on client-1", 1, 2),
        Span("nomad", "plugin-ebs-controller unhealthy on client-1", 2, 12),
        Span("nomad", "plugin-ebs-node starting on client-1", 1, 1),
        Span("nomad", "mysql starting on client-1", 14, 15),
        Span("nomad", "MySQL starts and answers", 15, 16),
    ]


def span(name: str, start_s: float, end_s: float, lane: str = "engine") -> dict[str, Any]:
    return {"lane": lane, "name": name, "start_s": start_s, "end_s": end_s}


def test_the_critical_path_is_what_each_thing_waited_for() -> None:
    spans = [
        span("start", 0, 1),
        span("slow", 1.05, 8),
        span("quick", 1.05, 3),
        span("last", 8.1, 10),
        span("still going", 5, 30),
    ]
    assert [found["name"] for found in critical_path(spans, 10)] == ["start", "slow", "last"]


def test_of_those_that_end_together_the_longest_is_on_the_critical_path() -> None:
    spans = [span("short", 4, 5), span("long", 0, 5)]
    assert [found["name"] for found in critical_path(spans, 5)] == ["long"]


def test_without_a_span_there_is_no_critical_path() -> None:
    assert critical_path([], 5) == []


RECORDED = {
    "ended_s": 12.0,
    "moments": {"MySQL": 10.0},
    "spans": [
        span("MySQL starts & answers", 6, 10, "nomad"),
        span("engine", 0, 12, "processes"),
        span("Volume <mysql>", 2, 6),
        span("Volume other", 2, 3),
    ],
}


def bars(root: ET.Element) -> dict[str, str]:
    """Colours by what the bars say when they are pointed at."""
    return {str(bar[0].text): bar.attrib["fill"] for bar in root.findall(f"{SVG}rect") if len(bar)}


def test_the_picture_names_everything_and_shows_the_critical_path_in_red() -> None:
    root = ET.fromstring(timeline_figure.draw(RECORDED))
    told = {text.text for text in root.findall(f"{SVG}text")}
    assert {"Processes", "Resources", "Nomad", "engine", "Volume <mysql>", "MySQL answers: 10.0 s"} <= told
    red = sorted(name for name, colour in bars(root).items() if colour == timeline_figure.CRITICAL)
    assert red == ["MySQL starts & answers: 6.00 to 10.00 s", "Volume <mysql>: 2.00 to 6.00 s"]
    assert len(bars(root)) == 4


def test_a_bar_is_as_long_as_what_it_shows_took() -> None:
    root = ET.fromstring(timeline_figure.draw(RECORDED))
    wide = [float(bar.attrib["width"]) for bar in root.findall(f"{SVG}rect") if len(bar)]
    assert wide == pytest.approx([12 * wide[3] / 4, wide[3], wide[3] / 4, wide[3]], abs=0.2)


def test_without_an_answer_the_path_leads_to_the_end_of_the_command() -> None:
    root = ET.fromstring(timeline_figure.draw({**RECORDED, "moments": {}}))
    assert "MySQL answers" not in "".join(text.text or "" for text in root.findall(f"{SVG}text"))


def test_the_page_draws_what_was_recorded(tmp_path: Path) -> None:
    assert "timeline-up.svg" not in page.figures(tmp_path)
    (tmp_path / page.TIMELINE).write_text(json.dumps(RECORDED))
    assert page.figures(tmp_path)["timeline-up.svg"] == timeline_figure.draw(RECORDED)
