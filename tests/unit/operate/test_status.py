"""What `nomad-stateful status` shows: the stack on one screen, as an object, and as a graph."""

import json
import time
from argparse import ArgumentError
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from nomad_stateful import terminal
from nomad_stateful.ebs.ec2_client import AwsPlace
from nomad_stateful.ebs.volumes import Volume
from nomad_stateful.nomad.clients import Client
from nomad_stateful.nomad.periodic_runs import FailingRun
from nomad_stateful.operate import dumps, stack, status
from nomad_stateful.operate.overview import facts, graph, screen
from nomad_stateful.operate.overview.facts import JobLine, Overview, PluginLine, VolumeLine
from nomad_stateful.terminal import Span, rendered, svg, table, takes_colour
from tests.fake_nomad import FakeNomad
from tests.fake_nomad.jobs import ended
from tests.unit.operate.commands import parsed
from tests.unit.operate.test_recover import CLAIM, CUT_OFF, FREE, INSTANCE, NODE, VOLUME, stack_volume

NOW = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)
WELL = Overview(
    stack="dev",
    place="123456789012 us-west-2",
    clients=[Client(NODE, "client-1", "ready", zone="us-west-2a", instance_id=INSTANCE)],
    plugins=[PluginLine("ebs", "v1.48.0", (2, 2), {"us-west-2a": (1, 1)})],
    volumes=[
        VolumeLine(
            stack_volume(FREE), "us-west-2a", "10 GiB", "ebs", 10 << 30, 3 << 30, snapshot=NOW - timedelta(hours=5)
        )
    ],
    jobs=[JobLine("mysql-server", "running", 1, 1, ["client-1"])],
)


def but(part: str, **changes: Any) -> Overview:
    """The stack that is well but for its one client, plugin, volume or job."""
    [one] = getattr(WELL, part)
    changed: dict[str, Any] = {part: [replace(one, **changes)]}
    return replace(WELL, **changed)


CUT = but("volumes", volume=stack_volume(CUT_OFF))
UNSEEN = stack_volume(replace(FREE, attached=None, ec2_error="no permission"))
RUN = FailingRun(
    "mysql-backup/periodic-1", "data", 3, "2026-01-01T03:00:00Z", "0123456789abcdef", "dump", "Exit Code: 2", again=True
)


def shown(overview: Overview) -> str:
    return rendered(screen.lines(overview, NOW), colour=False)


def row(overview: Overview, first: str) -> list[str]:
    return next(line.split() for line in shown(overview).splitlines() if line.startswith(first))


def test_a_stack_in_order_fits_a_screen() -> None:
    said = shown(WELL)
    assert "all in order" in said
    assert len(said.splitlines()) < 24
    assert row(WELL, "us-west-2a") == ["us-west-2a", "client-1", "ready", INSTANCE]
    assert row(WELL, "ebs") == ["ebs", "v1.48.0", "2", "of", "2", "healthy", "1", "of", "1", "healthy"]
    assert row(WELL, "mysql ") == f"mysql {VOLUME} us-west-2a 10 GiB 30% available - - 5 h ago".split()
    assert row(WELL, "mysql-server") == ["mysql-server", "running", "1", "of", "1", "client-1"]


def test_a_volume_is_shown_with_its_holders_and_what_is_wrong_with_it() -> None:
    said = row(CUT, "mysql ")
    assert {"mysql-server", "8f3c2a1b", "(lost)", "client-1", "(down)", "busy"} <= set(said)
    assert "`nomad-stateful recover mysql` says what to do" in shown(CUT)


@pytest.mark.parametrize(
    ("overview", "who", "what"),
    [
        (CUT, "mysql", "`nomad-stateful recover mysql` says what to do"),
        (but("clients", status="down"), "client-1", "the client is down"),
        (but("plugins", controllers=(1, 2)), "ebs", "1 of 2 controllers"),
        (but("plugins", zones={"us-west-2a": (0, 1)}), "ebs", "0 of 1 node plugins are healthy in us-west-2a"),
        (but("jobs", running=0), "mysql-server", "0 of 1 instances run"),
        (but("jobs", status="not there"), "mysql-server", "Nomad has no such job"),
        (but("volumes", used=19 << 29), "mysql", "its file system is 95% full: a larger sizeGib grows it"),
        (
            but("volumes", volume=replace(stack_volume(FREE), registered=False)),
            "mysql",
            "it is not registered with Nomad",
        ),
        (but("volumes", volume=UNSEEN), "mysql", "EC2 does not say where it is: no permission"),
        (replace(WELL, failing_dumps=[RUN]), "mysql-backup/periodic-1", "the dump has failed 3 times"),
    ],
)
def test_what_is_wrong_is_red_and_at_the_end(overview: Overview, who: str, what: str) -> None:
    (found,) = overview.problems()
    assert found[0] == who
    assert what in found[1]
    *_, last = screen.lines(overview, NOW)
    assert [span.style for span in last] == ["bad"]
    assert "1 wrong" in shown(overview)
    assert status.as_object(overview)["ok"] is False
    node = next((one for one in graph.graph(overview).nodes if one.name == who), None)
    assert node is None or node.wrong


def test_scripts_get_the_status_as_an_object() -> None:
    told = json.loads(json.dumps(status.as_object(CUT)))
    (volume,) = told["volumes"]
    assert told["ok"] is False
    assert volume["claims"] == [
        {
            "allocation": CLAIM.alloc_id,
            "job": "mysql-server",
            "status": "lost",
            "client": "client-1",
            "clientStatus": "down",
            "instance": INSTANCE,
        }
    ]
    assert volume["attachments"][0]["instance"] == INSTANCE
    assert volume["problems"][0]["steps"] == [f"aws ec2 stop-instances --instance-ids {INSTANCE}"]
    well = status.as_object(WELL)
    assert (well["ok"], well["problems"]) == (True, [])
    assert (well["volumes"][0]["usedBytes"], well["volumes"][0]["newestSnapshot"]) == (3 << 30, "2026-01-02T07:00:00Z")


def test_it_is_shown_again_until_it_is_interrupted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Nomad:
        def close(self) -> None:
            """Nothing to close."""

    states = iter([CUT, WELL])

    def read(_nomad: Any) -> Overview:
        try:
            return next(states)
        except StopIteration:
            raise KeyboardInterrupt from None

    monkeypatch.setattr(status, "connect", Nomad)
    monkeypatch.setattr(time, "sleep", lambda _s: None)
    monkeypatch.setattr(facts, "read", read)
    status.show(as_json=True, every_s=1)
    assert [json.loads(line)["ok"] for line in capsys.readouterr().out.splitlines()] == [False, True]


@pytest.mark.parametrize("given", ["0", "0.2", "-1", "often", "nan", "inf"])
def test_a_pause_of_less_than_a_second_is_refused(given: str) -> None:
    assert parsed(status.COMMAND, "--watch").watch == 2
    assert parsed(status.COMMAND).watch == 0
    with pytest.raises(ArgumentError, match="must be a number of seconds, 1 or more"):
        parsed(status.COMMAND, "--watch", given)


def test_a_graph_has_zones_clients_volumes_and_consumers() -> None:
    ready = replace(CUT_OFF, clients={NODE: replace(CUT_OFF.clients[NODE], status="ready")})
    found = graph.graph(but("volumes", volume=stack_volume(ready)))
    said = graph.mermaid(found)
    assert 'subgraph z0["us-west-2a"]' in said
    assert '[("mysql<br/>10 GiB, 30% used")]' in said
    assert 'n0 -- "claims" --> n2' in said
    assert 'n2 -- "busy" --> n1' in said
    drawn = ET.fromstring(graph.svg(found))
    texts = {one.text for one in drawn.iter("{http://www.w3.org/2000/svg}text")}
    assert {"us-west-2a", "client-1", "mysql", "mysql-server", "claims", "busy"} <= texts


def test_a_volume_without_zone_or_client_is_drawn_too() -> None:
    line = replace(WELL.volumes[0], zone="", volume=stack_volume(replace(FREE, attached=Volume(VOLUME, "available"))))
    found = graph.graph(replace(WELL, clients=[], volumes=[line]))
    assert 'subgraph z0["no zone"]' in graph.mermaid(found)
    ET.fromstring(graph.svg(found))


@pytest.fixture
def nomad(nomad: FakeNomad, monkeypatch: pytest.MonkeyPatch) -> FakeNomad:
    outputs = {
        "plugins": {"ebs": {}},
        "volumes": {"mysql": {"id": VOLUME, "nomadId": "mysql", "zone": "us-west-2a", "sizeGib": 10}},
        "mysql": {"job": "mysql-server", "namespace": "default"},
        "mysqlBackup": {"job": "mysql-backup"},
    }
    monkeypatch.setattr(stack, "outputs", lambda: outputs)
    monkeypatch.setattr(stack, "aws_place", lambda: AwsPlace("us-west-2", "123456789012"))
    monkeypatch.setattr(facts, "stack_volumes", lambda _nomad: [stack_volume(replace(FREE, claims=(CLAIM,)))])
    monkeypatch.setattr(facts, "_snapshots", lambda _volumes: {VOLUME: NOW})
    monkeypatch.setattr(dumps, "failing", lambda _nomad: [])
    attributes = {"platform.aws.placement.availability-zone": "us-west-2a"}
    nomad.put(f"node/{NODE}", {"Name": "client-1", "Status": "ready", "Attributes": attributes})
    nomad.put("plugin/csi/ebs", {"Nodes": {NODE: {"Healthy": True}}, "ControllersExpected": 1})
    mounted = f"/csi/per-alloc/{CLAIM.alloc_id}/mysql/rw"
    nomad.put("client/stats", {"DiskStats": [{"Mountpoint": mounted, "Size": 100, "Used": 40}]})
    nomad.put("job/mysql-server", {"Type": "service", "Status": "running", "TaskGroups": [{"Count": 1}]})
    running = {"ClientStatus": "running", "DesiredStatus": "run", "NodeName": "client-1"}
    nomad.put("job/mysql-server/allocations", [running])
    launched = {"ParentID": "mysql-backup", "SubmitTime": 1767322800 * 10**9}
    complete = {"JobSummary": {"Summary": {"dump": {"Complete": 1}}}}
    nomad.put("job/mysql-backup/periodic-1767322800", launched | complete)
    done = {"ID": "d1", "ClientStatus": "complete", "TaskStates": {"dump": ended(0)}}
    nomad.put("job/mysql-backup/periodic-1767322800/allocations", [done])
    return nomad


def test_it_is_read_from_nomad_and_ec2(nomad: FakeNomad) -> None:
    found = facts.read(nomad.api)
    assert [(one.name, one.zone, one.state) for one in found.clients] == [("client-1", "us-west-2a", "ready")]
    assert found.plugins == [PluginLine("ebs", "", (0, 1), {"us-west-2a": (1, 1)})]
    assert (found.volumes[0].part, found.volumes[0].snapshot) == (0.4, NOW)
    assert found.jobs == [JobLine("mysql-server", "running", 1, 1, ["client-1"])]
    assert found.newest_backup == "2026-01-02 03:00Z"
    assert found.unread == []


def place_controller(nomad: FakeNomad, age_s: float, **stub: Any) -> datetime:
    """A drained controller's successor on client-1, which is not healthy yet; when it was placed."""
    since = datetime.now(UTC) - timedelta(seconds=age_s)
    task = {"CSIPluginConfig": {"ID": "ebs", "Type": "controller"}}
    nomad.put("job/controllers", {"Status": "running", "TaskGroups": [{"Name": "controller", "Tasks": [task]}]})
    own = {"ID": "8f3c2a1b-0000", "NodeID": NODE, "NodeName": "client-1", "TaskGroup": "controller"}
    states = {"DesiredStatus": "run", "ClientStatus": "running", "CreateTime": int(since.timestamp() * 1e9)}
    nomad.put("job/controllers/allocations", [{**own, **states, **stub}])
    return since


def test_a_controller_that_was_just_moved_is_starting_and_not_wrong(nomad: FakeNomad) -> None:
    since = place_controller(nomad, 20)
    found = replace(facts.read(nomad.api), volumes=[])
    assert list(found.problems()) == []
    assert "all in order" in shown(found)
    assert f"a controller is starting since {since:%H:%M:%S} UTC" in shown(found)
    assert "(allocation 8f3c2a1b, client client-1)" in shown(found)
    told = status.as_object(found)
    assert told["ok"] is True
    (start,) = told["plugins"][0]["starting"]
    assert (start["since"], start["roles"]) == (f"{since:%Y-%m-%dT%H:%M:%SZ}", ["Controllers"])


@pytest.mark.parametrize(
    ("age_s", "stub"),
    [
        (130, {}),
        (20, {"TaskStates": {"plugin": {"Restarts": 1}}}),
        (20, {"RescheduleTracker": {"Events": [{"PrevAllocID": "x"}]}}),
        (20, {"ClientStatus": "failed"}),
        (20, {"DesiredStatus": "stop"}),
    ],
)
def test_one_that_takes_too_long_or_failed_before_is_wrong(
    nomad: FakeNomad, age_s: float, stub: dict[str, Any]
) -> None:
    place_controller(nomad, age_s, **stub)
    assert [who for who, what in facts.read(nomad.api).problems() if "0 of 1 controllers are healthy" in what] == [
        "ebs"
    ]


def test_one_that_starts_does_not_stand_for_another_that_is_missing(nomad: FakeNomad) -> None:
    place_controller(nomad, 20)
    nomad.put("plugin/csi/ebs", {"Nodes": {NODE: {"Healthy": True}}, "ControllersExpected": 2})
    (problem,) = replace(facts.read(nomad.api), volumes=[]).problems()
    assert "0 of 2 controllers are healthy" in problem[1]


def test_what_the_token_may_not_read_is_said_and_the_rest_is_shown(nomad: FakeNomad) -> None:
    nomad.refuse("nodes", 403, "Permission denied")
    found = facts.read(nomad.api)
    assert found.unread[0].startswith("clients: Unexpected response code: 403 (Permission denied)")
    assert found.volumes
    assert "not read  clients:" in shown(found)


def test_colours_are_for_terminals_that_show_them(capsys: pytest.CaptureFixture[str]) -> None:
    import sys

    assert not takes_colour(sys.stdout, {})
    assert takes_colour(sys.stdout, {"CLICOLOR_FORCE": "1"})
    assert not takes_colour(sys.stdout, {"CLICOLOR_FORCE": "1", "NO_COLOR": "1"})
    lines = table([("A", "B"), ("1", Span("down", "bad"))])
    assert rendered(lines, colour=False) == "A  B\n1  down"
    assert "\033[1;31mdown\033[0m" in rendered(lines, colour=True)


def test_a_terminals_text_becomes_a_picture_of_the_same_words_and_colours() -> None:
    lines = terminal.parsed("zone  \033[1;31mdown\033[0m <here>\n\nend")
    assert lines[0] == [Span("zone  "), Span("down", "bad"), Span(" <here>")]
    drawn = ET.fromstring(svg(lines, "nomad-stateful status"))
    spans = [(one.text, one.get("x")) for one in drawn.iter("{http://www.w3.org/2000/svg}tspan")]
    assert spans == [("zone", "14.0"), ("down", "60.8"), ("<here>", "99.8"), ("end", "14.0")]
