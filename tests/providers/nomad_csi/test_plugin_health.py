"""PluginHealth over gRPC: waits, reports, gives up with the reason."""

from functools import partial
from typing import Any

import pytest

from nomad_stateful.plugin_server.values import UNKNOWN
from tests.fake_nomad import FakeNomad
from tests.providers.harness import Failed, PluginProcess, Resource, in_background
from tools.trial.running import eventually

TYPE = "nomad-csi:index:PluginHealth"
INPUTS: dict[str, Any] = {
    "pluginId": "ebs",
    "controllers": 1,
    "zones": ["a", "b"],
    "zoneKeys": ["zone"],
    "timeoutS": 20,
    "triggers": {},
}
JOB = {"ID": "ebs-jobs", "Namespace": "default", "Type": "system", "Version": 2, "Stop": False}


def plugin_body(zones: list[str], controllers: int = 1) -> dict[str, Any]:
    return {
        "ID": "ebs",
        "Provider": "ebs.csi.aws.com",
        "Version": "v1",
        "Controllers": {f"c{i}": {"Healthy": True, "AllocID": f"c{i}"} for i in range(controllers)},
        "Nodes": {
            f"n{i}": {
                "Healthy": True,
                "AllocID": f"n{i}",
                "NodeInfo": {"AccessibleTopology": {"Segments": {"zone": zone}}},
            }
            for i, zone in enumerate(zones)
        },
    }


def test_create_returns_when_the_last_zone_becomes_healthy(nomad: FakeNomad, plugin: PluginProcess) -> None:
    thread, outcome = in_background(lambda: plugin.create(TYPE, INPUTS))
    nomad.wait_for_request("plugin/csi/ebs")
    nomad.put("plugin/csi/ebs", plugin_body(["a"]))
    assert "no healthy node plugin in b" in plugin.engine.wait_for("no healthy node plugin in b (")
    nomad.put("plugin/csi/ebs", plugin_body(["a", "b", "b"]))
    thread.join(30)
    _, *later = [asked.query for asked in nomad.requests if asked.path == "plugin/csi/ebs"]
    assert all(int(query.get("index", 0)) for query in later), "it waits for a change, and does not poll"
    [created] = outcome
    assert isinstance(created, Resource)
    assert created.id == "ebs"
    assert created["zonesHealthy"] == {"a": 1, "b": 2}
    assert created["controllersHealthy"] == 1
    assert created["nodesHealthy"] == 3
    assert created["topologyKey"] == "zone"
    assert created["provider"] == "ebs.csi.aws.com"


def of_version(version: int, *, zones: list[str]) -> dict[str, Any]:
    """A healthy plugin whose instances run that version of their job, all on one client."""
    body = plugin_body(zones)
    ids = [info["AllocID"] for role in ("Controllers", "Nodes") for info in body[role].values()]
    stub = {"JobID": "ebs-jobs", "Namespace": "default", "JobVersion": version, "NodeID": "client"}
    return {**body, "Allocations": [{**stub, "ID": alloc_id} for alloc_id in ids]}


def test_the_version_before_a_change_is_not_taken_for_the_new_one(nomad: FakeNomad, plugin: PluginProcess) -> None:
    nomad.put("job/ebs-jobs", JOB)
    nomad.put("nodes", [{"ID": "client", "Status": "ready", "SchedulingEligibility": "eligible"}])
    nomad.put("plugin/csi/ebs", of_version(1, zones=["a", "b"]))
    thread, outcome = in_background(lambda: plugin.create(TYPE, INPUTS))
    plugin.engine.wait_for(
        "0 of 1 controllers healthy; no healthy node plugin in a, b; 3 of an older version of its jobs"
    )
    nomad.put("plugin/csi/ebs", of_version(2, zones=["a", "b"]))
    thread.join()
    assert outcome[0]["zonesHealthy"] == {"a": 1, "b": 1}


def test_after_a_failed_deployment_each_further_client_takes_an_evaluation(
    nomad: FakeNomad, plugin: PluginProcess
) -> None:
    """Also where every zone has a healthy one of the newest version: nothing else would replace the others."""

    def have(*versions: int, healthy: bool = True) -> None:
        body = of_version(2, zones=["a"] * len(versions))
        for stub, version in zip(body["Allocations"][1:], versions, strict=True):
            stub["JobVersion"] = version
        body["Nodes"]["n0"]["Healthy"] = healthy
        live = {"DesiredStatus": "run", "ClientStatus": "running"}
        nomad.put("job/ebs-jobs/allocations", [stub | live for stub in body["Allocations"]])
        nomad.put("plugin/csi/ebs", body)

    def evaluated(before: int) -> bool | None:
        return len(nomad.sent("job/ebs-jobs/evaluate")) > before or None

    inputs = INPUTS | {"zones": ["a"], "timeoutS": 60}
    nomad.put("job/ebs-jobs", JOB)
    nomad.put("job/ebs-jobs/deployment", {"JobVersion": 1, "Status": "failed"})
    nomad.put("nodes", [{"ID": "client", "Status": "ready", "SchedulingEligibility": "eligible"}])
    have(2, 1, 1, healthy=False)
    # As one for each zone and one for the whole plugin.
    waits = [in_background(lambda: plugin.create(TYPE, inputs)) for _ in range(2)]
    plugin.engine.wait_for("no healthy node plugin in a; 2 of an older version of its jobs")
    assert nomad.sent("job/ebs-jobs/evaluate") == [], "one after the other"
    for left in ([2, 1, 1], [2, 2, 1]):
        asked = len(nomad.sent("job/ebs-jobs/evaluate"))
        have(*left)
        eventually(partial(evaluated, asked), 20, "an evaluation")
    assert len(nomad.sent("job/ebs-jobs/evaluate")) == 2, "once for each client"
    have(2, 2, 2)
    for thread, outcome in waits:
        thread.join(30)
        assert outcome[0]["nodesHealthy"] == 3


def test_a_roll_out_that_the_token_may_not_go_on_with_is_not_waited_for(
    nomad: FakeNomad, plugin: PluginProcess
) -> None:
    """As that of another stack's plugin."""
    body = of_version(2, zones=["a", "a"])
    body["Allocations"][1]["JobVersion"] = 1
    live = {"DesiredStatus": "run", "ClientStatus": "running"}
    nomad.put("job/ebs-jobs", JOB)
    nomad.put("job/ebs-jobs/deployment", {"JobVersion": 1, "Status": "failed"})
    nomad.put("job/ebs-jobs/allocations", [stub | live for stub in body["Allocations"]])
    nomad.put("nodes", [{"ID": "client", "Status": "ready", "SchedulingEligibility": "eligible"}])
    nomad.put("plugin/csi/ebs", body)
    nomad.refuse("job/ebs-jobs/evaluate", 403, "Permission denied")
    assert plugin.create(TYPE, INPUTS | {"zones": ["a"]})["nodesHealthy"] == 1


def test_a_client_that_keeps_the_version_before_counts(nomad: FakeNomad, plugin: PluginProcess) -> None:
    nomad.put("job/ebs-jobs", JOB)
    nomad.put("nodes", [{"ID": "client", "Status": "ready", "SchedulingEligibility": "ineligible"}])
    nomad.put("plugin/csi/ebs", of_version(1, zones=["a", "b"]))
    assert plugin.create(TYPE, INPUTS)["nodesHealthy"] == 2


def test_a_preview_knows_what_is_healthy_already_and_waits_for_nothing(nomad: FakeNomad, plugin: PluginProcess) -> None:
    unknown = plugin.create(TYPE, INPUTS, preview=True)
    assert unknown["topologyKey"] == UNKNOWN
    nomad.put("plugin/csi/ebs", plugin_body(["a"]))
    assert plugin.create(TYPE, INPUTS, preview=True)["topologyKey"] == UNKNOWN
    one_zone = plugin.create(TYPE, INPUTS | {"zones": ["a"], "triggers": {"job": UNKNOWN}}, preview=True)
    assert (one_zone["topologyKey"], one_zone["zonesHealthy"]) == ("zone", {"a": 1})


def test_at_the_deadline_it_says_what_is_missing_and_why(nomad: FakeNomad, plugin: PluginProcess) -> None:
    nomad.put("plugin/csi/ebs", plugin_body(["a"]))
    nomad.put("jobs", [{"ID": "nodes", "Namespace": "default", "Status": "running", "Stop": False}])
    nomad.put(
        "job/nodes",
        {
            "ID": "nodes",
            "Namespace": "default",
            "TaskGroups": [{"Tasks": [{"Name": "driver", "CSIPluginConfig": {"ID": "ebs"}}]}],
        },
    )
    nomad.put(
        "job/nodes/allocations",
        [
            {
                "ID": "0123456789",
                "NodeName": "client-3",
                "DesiredStatus": "run",
                "ClientStatus": "failed",
                "TaskStates": {"driver": {"Events": [{"Type": "Driver Failure", "DisplayMessage": "no such image"}]}},
            }
        ],
    )
    with pytest.raises(Failed) as failed:
        plugin.create(TYPE, INPUTS | {"timeoutS": 1})
    for part in (
        "CSI plugin ebs is not healthy after 1 s",
        "no healthy node plugin in b",
        "allocation 01234567 of job nodes on client-3: failed; driver: Driver Failure: no such image",
        "run the same command again",
    ):
        assert part in failed.value.message
    assert failed.value.partial is None, "what is not healthy does not exist"


def test_without_a_job_for_the_plugin_the_error_says_so(nomad: FakeNomad, plugin: PluginProcess) -> None:
    nomad.put("jobs", [])
    with pytest.raises(Failed, match="no running job has a csi_plugin block with id 'ebs'"):
        plugin.create(TYPE, INPUTS | {"timeoutS": 1})


def test_cancel_ends_a_wait_long_before_its_deadline(nomad: FakeNomad, plugin: PluginProcess) -> None:
    thread, outcome = in_background(lambda: plugin.create(TYPE, INPUTS | {"timeoutS": 300}))
    nomad.wait_for_request("plugin/csi/ebs")
    plugin.cancel()
    thread.join(30)
    assert [str(error) for error in outcome] == ["cancelled"]


def test_a_custom_timeout_beats_the_input(nomad: FakeNomad, plugin: PluginProcess) -> None:
    nomad.put("jobs", [])
    with pytest.raises(Failed, match="after 1 s"):
        plugin.create(TYPE, INPUTS, timeout_s=1)


def test_an_answer_of_no_leadership_is_waited_out(nomad: FakeNomad, plugin: PluginProcess) -> None:
    nomad.put("plugin/csi/ebs", plugin_body([]))
    thread, outcome = in_background(lambda: plugin.create(TYPE, INPUTS))
    plugin.engine.wait_for("waiting for CSI plugin ebs")
    nomad.refuse("plugin/csi/ebs", 500, "No cluster leader")
    plugin.engine.wait_for("No cluster leader")
    nomad.put("plugin/csi/ebs", plugin_body(["a", "b"]))
    thread.join()
    assert isinstance(outcome[0], Resource)


def test_a_refused_token_fails_at_once(nomad: FakeNomad, plugin: PluginProcess) -> None:
    nomad.refuse("plugin/csi/ebs", 403, "Permission denied")
    with pytest.raises(Failed, match=r"Unexpected response code: 403 \(Permission denied\)"):
        plugin.create(TYPE, INPUTS)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"pluginId": "my plugin"}, "pluginId is 'my plugin'"),
        ({"zones": ["a", "a"]}, "zones[1] is 'a', which is in the list already"),
        ({"controllers": -1}, "controllers is -1"),
        ({"timeoutS": 0}, "timeoutS is 0"),
        ({"triggers": {"job": 5}}, "triggers.job is not a string"),
        ({"plugin": "x"}, "plugin is not an input here"),
    ],
)
def test_bad_inputs_are_refused_with_key_and_value(plugin: PluginProcess, change: dict[str, Any], reason: str) -> None:
    assert reason in plugin.check(TYPE, INPUTS | change).reasons


def test_check_fills_in_the_defaults(plugin: PluginProcess) -> None:
    checked = plugin.check(TYPE, {"pluginId": "ebs"})
    assert checked.failures == []
    assert checked.inputs.props == INPUTS | {"zones": [], "zoneKeys": [], "timeoutS": 300}


def test_a_plugin_a_refresh_found_unhealthy_is_waited_for_again(plugin: PluginProcess) -> None:
    state = INPUTS | {"controllersHealthy": 1, "zonesHealthy": {"a": 1}}
    assert plugin.diff(TYPE, "ebs", state, INPUTS, INPUTS).detailed == {"zonesHealthy": "UPDATE"}
    healthy = state | {"zonesHealthy": {"a": 1, "b": 1}}
    assert not plugin.diff(TYPE, "ebs", healthy, INPUTS, INPUTS).changed


def test_read_gives_the_counts_of_now_and_nothing_for_a_plugin_that_is_gone(
    nomad: FakeNomad, plugin: PluginProcess
) -> None:
    nomad.put("plugin/csi/ebs", plugin_body(["a"]))
    found = plugin.found(TYPE, "ebs", INPUTS, INPUTS)
    assert found["zonesHealthy"] == {"a": 1}
    nomad.put("plugin/csi/ebs", None)
    assert plugin.read(TYPE, "ebs") is None


NODES_AWAY: list[tuple[str, dict[str, Any] | None]] = [
    ("no node plugin", plugin_body([])),
    ("only one zone's, without topology", {**plugin_body(["a"]), "Nodes": {"n0": {"Healthy": True, "NodeInfo": {}}}}),
    ("no such plugin", None),
]


@pytest.mark.parametrize(("moment", "body"), NODES_AWAY, ids=[moment for moment, _ in NODES_AWAY])
def test_an_unhealthy_moment_at_a_refresh_takes_nothing_from_what_hangs_on_the_plugin(
    nomad: FakeNomad, plugin: PluginProcess, moment: str, body: dict[str, Any] | None
) -> None:
    nomad.put("plugin/csi/ebs", plugin_body(["a", "b"]))
    made = plugin.create(TYPE, INPUTS).outputs.props
    nomad.put("plugin/csi/ebs", body)
    found = plugin.found(TYPE, "ebs", INPUTS, made)
    lasting = ("provider", "topologyKey", "topologyKeys")
    assert [found[key] for key in lasting] == ["ebs.csi.aws.com", "zone", ["zone"]] == [made[key] for key in lasting]
    state = found.outputs.props
    diff = plugin.diff(TYPE, "ebs", state, INPUTS, INPUTS)
    assert (diff.changed, diff.replaces) == (True, []), "the next update waits until it is healthy"
    planned = plugin.update(TYPE, "ebs", state, INPUTS, INPUTS, preview=True)
    assert [planned[key] for key in lasting] == [made[key] for key in lasting]


def test_a_state_that_kept_an_unhealthy_moment_is_planned_with_what_the_plugin_reports_now(
    nomad: FakeNomad, plugin: PluginProcess
) -> None:
    nomad.put("plugin/csi/ebs", plugin_body(["a", "b"]))
    made = plugin.create(TYPE, INPUTS).outputs.props
    poor = made | {"topologyKey": "", "topologyKeys": [], "nodesHealthy": 0, "zonesHealthy": {}}
    planned = plugin.update(TYPE, "ebs", poor, INPUTS, INPUTS, preview=True)
    assert (planned["topologyKey"], planned["topologyKeys"]) == ("zone", ["zone"])


def test_a_driver_without_zones_whose_nodes_are_away_is_waited_for(nomad: FakeNomad, plugin: PluginProcess) -> None:
    inputs = INPUTS | {"zones": [], "controllers": 0}
    nomad.put("plugin/csi/ebs", plugin_body(["a"]))
    made = plugin.create(TYPE, inputs).outputs.props
    nomad.put("plugin/csi/ebs", plugin_body([]))
    found = plugin.found(TYPE, "ebs", inputs, made)
    assert plugin.diff(TYPE, "ebs", found.outputs.props, inputs, inputs).changed


def test_controllers_whose_deployment_failed_are_deployed_again(nomad: FakeNomad, plugin: PluginProcess) -> None:
    tasks = [{"Name": "plugin", "CSIPluginConfig": {"ID": "ebs"}}]
    job = {"Type": "service", "Version": 3, "Stop": False, "Status": "running"}
    nomad.put("job/ctl", job | {"TaskGroups": [{"Tasks": tasks}]})
    nomad.put("job/ctl/deployment", {"JobVersion": 3, "Status": "failed", "StatusDescription": "progress deadline"})
    nomad.put("plugin/csi/ebs", plugin_body(["a", "b"], controllers=1))
    thread, outcome = in_background(lambda: plugin.create(TYPE, INPUTS | {"controllers": 2, "timeoutS": 60}))
    plugin.engine.wait_for("deploying job ctl again: the deployment of its version 3 failed: progress deadline", 40)
    nomad.put("plugin/csi/ebs", plugin_body(["a", "b"], controllers=2))
    thread.join(10)
    assert outcome[0]["controllersHealthy"] == 2
    assert "jobs" in nomad.requested("PUT")


def nodes(nomad: FakeNomad, **statuses: str) -> None:
    """A client in each zone, of that status."""
    nomad.put("nodes", [{"ID": zone, "Status": status} for zone, status in statuses.items()])
    for zone, status in statuses.items():
        attributes = {"platform.aws.placement.availability-zone": zone}
        nomad.put(f"node/{zone}", {"ID": zone, "Status": status, "Attributes": attributes})


def test_an_update_does_not_wait_for_a_zone_that_has_lost_all_its_clients(
    nomad: FakeNomad, plugin: PluginProcess
) -> None:
    nomad.put("plugin/csi/ebs", plugin_body(["a", "b"]))
    made = plugin.create(TYPE, INPUTS)
    nomad.put("plugin/csi/ebs", plugin_body(["a"]))
    nodes(nomad, a="ready", b="down")
    updated = plugin.update(TYPE, made.id, made.outputs.props, INPUTS, INPUTS | {"triggers": {"job": "2"}})
    assert updated["zonesHealthy"] == {"a": 1, "b": 1}, "when the zone is back, nothing is left to update"
    assert "b is not waited for" in plugin.engine.wait_for("b is not waited for")


def test_an_update_waits_for_a_zone_that_it_did_not_have_or_that_has_clients(
    nomad: FakeNomad, plugin: PluginProcess
) -> None:
    short = INPUTS | {"timeoutS": 1}
    nomad.put("plugin/csi/ebs", plugin_body(["a"]))
    nodes(nomad, a="ready", b="down")
    one = plugin.create(TYPE, short | {"zones": ["a"]})
    with pytest.raises(Failed, match="no healthy node plugin in b"):
        plugin.update(TYPE, one.id, one.outputs.props, short | {"zones": ["a"]}, short)
    nodes(nomad, a="ready", b="ready")
    with pytest.raises(Failed, match="no healthy node plugin in b"):
        plugin.update(TYPE, one.id, one.outputs.props, short, short | {"triggers": {"job": "2"}})
