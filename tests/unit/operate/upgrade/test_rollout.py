"""Another version of a driver, client by client: order, health, failure, the way back, and going on after a kill."""

from __future__ import annotations

from typing import Any, cast

import pytest

from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.operate.upgrade.rollout import NodeFailedError, Rollout

Json = dict[str, Any]
OLD, NEW = "v1.48.0", "v1.50.0"


def job(version: str) -> Json:
    return {"ID": "node", "TaskGroups": [{"Name": "nodes", "Tasks": [{"Config": {"image": version}}]}]}


class Nomad:
    """Three clients, on which a system job is replaced one at a time, the next when one is called healthy."""

    def __init__(self, broken: str = "", *, silent: str = "", deploys: bool = True) -> None:
        self.broken, self.silent = broken, silent
        """Clients on which the new version fails, and on which it runs without an answer."""
        self.deploys, self.evaluations = deploys, 0
        """Whether a version gets a deployment; without one, an evaluation replaces the plugin of one client."""
        self.versions: list[Json] = [{**job(OLD), "Version": 0}]
        self.allocs: dict[str, Json] = {}
        self.ineligible: set[str] = set()
        self.index = 0
        self.called: list[str] = []
        self.in_place: set[str] = set()
        for name in ("a", "b", "c"):
            self._place(name)

    @property
    def manual(self) -> bool:
        update = self.versions[-1]["TaskGroups"][0].get("Update") or {}
        return update.get("HealthCheck") == "manual" and update.get("MaxParallel") == 1

    def image(self, name: str) -> str:
        """The version that runs on a client."""
        return str(self.allocs[name]["Image"])

    def _place(self, name: str) -> None:
        self.index += 1
        newest = self.versions[-1]
        image = newest["TaskGroups"][0]["Tasks"][0]["Config"]["image"]
        fails = name == self.broken and image == NEW
        self.allocs[name] = {
            "ID": f"{name}-{self.index}",
            "NodeID": name,
            "NodeName": name,
            "JobVersion": newest["Version"],
            "CreateIndex": self.index,
            "DesiredStatus": "run",
            "ClientStatus": "failed" if fails else "running",
            "DeploymentStatus": {"Healthy": False} if fails else None,
            "DeploymentID": "d" if self.deploys else "",
            "Image": image,
        }

    def _go_on(self) -> None:
        """What Nomad does by itself: updates in place what has the same task, and replaces the next one."""
        newest = self.versions[-1]
        image = newest["TaskGroups"][0]["Tasks"][0]["Config"]["image"]
        older = [one for one in self.allocs.values() if one["JobVersion"] < newest["Version"]]
        for one in older:
            if one["Image"] == image and one["ClientStatus"] == "running":
                one |= {"JobVersion": newest["Version"], "DeploymentStatus": None}
                self.in_place.add(one["ID"])
        if (newest["TaskGroups"][0].get("Update") or {}).get("MaxParallel") == 0:
            for one in older:
                if one["JobVersion"] < newest["Version"]:
                    self._place(one["NodeName"])
            return
        if not self.deploys:
            for one in older[: self.evaluations]:
                self._place(one["NodeName"])
            self.evaluations = 0
            return
        waits = [one for one in self.allocs.values() if one["JobVersion"] == newest["Version"] and not _is_told(one)]
        for one in older:
            # Nobody but the operator calls anything healthy, and what is updated in place nobody can: the others wait.
            if one["JobVersion"] < newest["Version"] and one["NodeName"] not in self.ineligible and not waits:
                self._place(one["NodeName"])
                return

    def get(self, path: str, **_: Any) -> Any:
        if path == "nodes":
            words = {True: "ineligible", False: "eligible"}
            return [
                {"ID": one, "Status": "ready", "SchedulingEligibility": words[one in self.ineligible]}
                for one in self.allocs
            ]
        if path == "job/node":
            return self.versions[-1]
        if path == "job/node/versions":
            return {"Versions": self.versions[::-1]}
        if path == "job/node/allocations":
            found = [dict(one) for one in self.allocs.values()]
            self._go_on()
            return found
        assert path.startswith("allocation/"), path
        return next(one for one in self.allocs.values() if path.endswith(one["ID"]))

    def find(self, path: str, **_: Any) -> Any:
        assert path == "plugin/csi/ebs"
        return {
            "Nodes": {
                name: {"Healthy": name != self.silent or one["Image"] == OLD, "AllocID": one["ID"]}
                for name, one in self.allocs.items()
                if one["ClientStatus"] == "running"
            }
        }

    def put(self, path: str, body: Json, **_: Any) -> None:
        if path == "jobs":
            if body["Job"]["TaskGroups"] != self.versions[-1]["TaskGroups"]:
                self.versions.append({**body["Job"], "Version": self.versions[-1]["Version"] + 1})
                self.evaluations = 1
            return
        if path == "job/node/evaluate":
            self.evaluations = 1
            return
        assert path == "deployment/allocation-health/d"
        for one in self.allocs.values():
            if one["ID"] in body["HealthyAllocationIDs"] and one["ID"] not in self.in_place:
                one["DeploymentStatus"] = {"Healthy": True}
                self.called.append(one["NodeID"])


def _is_told(one: Json) -> bool:
    return one["DeploymentStatus"] is not None


def rollout(nomad: Nomad, timeout_s: float = 5) -> Rollout:
    return Rollout(cast("NomadApi", nomad), "ebs", "node", "default", timeout_s, lambda _: None, poll_s=0.001)


def test_one_client_after_the_other_gets_the_new_version() -> None:
    nomad = Nomad()
    roll = rollout(nomad)
    roll.register(job(NEW))
    roll.run()
    assert nomad.called == ["a", "b", "c"]
    assert {nomad.image(name) for name in "abc"} == {NEW}
    assert set(roll.done) == {"a", "b", "c"}


def test_a_version_that_gets_no_deployment_goes_on_by_evaluations() -> None:
    nomad = Nomad(deploys=False)
    roll = rollout(nomad)
    roll.register(job(NEW))
    roll.run()
    assert {nomad.image(name) for name in "abc"} == {NEW}


@pytest.mark.parametrize(("broken", "silent"), [("b", ""), ("", "b")])
def test_where_one_fails_all_go_back(broken: str, silent: str) -> None:
    nomad = Nomad(broken, silent=silent)
    roll = rollout(nomad, timeout_s=0.1)
    before = roll.before()
    roll.register(job(NEW))
    with pytest.raises(NodeFailedError, match=r"^b"):
        roll.run()
    assert nomad.called == ["a"]
    rollout(nomad).roll_back(before)
    assert {nomad.image(name) for name in "abc"} == {OLD}
    assert not nomad.manual


def test_after_a_kill_the_same_command_goes_on_and_still_knows_the_way_back() -> None:
    nomad = Nomad()
    first = rollout(nomad)
    first.register(job(NEW))
    nomad.get("job/node/allocations")
    again = rollout(nomad)
    assert again.before()["TaskGroups"] == job(OLD)["TaskGroups"]
    again.register(job(NEW))
    again.run()
    assert len(nomad.versions) == 2
    assert {nomad.image(name) for name in "abc"} == {NEW}


def test_a_client_that_is_ineligible_keeps_its_version() -> None:
    nomad = Nomad()
    nomad.ineligible.add("b")
    roll = rollout(nomad)
    roll.register(job(NEW))
    roll.run()
    assert [nomad.image(name) for name in "abc"] == [NEW, OLD, NEW]


def test_a_client_without_a_plugin_is_not_taken_for_upgraded() -> None:
    nomad = Nomad()
    nomad.allocs["c"] |= {"ClientStatus": "failed"}
    assert rollout(nomad).lacks() == ["c is not healthy"]
