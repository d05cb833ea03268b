"""getJob over gRPC: what is registered, and which periodic runs fail."""

from typing import Any

from tests.fake_nomad import FakeNomad
from tests.fake_nomad.jobs import ended
from tests.providers.harness import PluginProcess

FUNCTION = "nomad-csi:index:getJob"
LAUNCHED = 1767236400_000_000_000  # 2026-01-01T03:00:00Z
JOB: dict[str, Any] = {
    "ID": "db",
    "TaskGroups": [
        {
            "Volumes": {"data": {"Source": "disk"}},
            "Tasks": [
                {
                    "Name": "server",
                    "Config": {"image": "mysql:9.7.4", "args": ["--datadir=/srv/mysql"]},
                    "VolumeMounts": [{"Volume": "data", "Destination": "/srv"}],
                }
            ],
        }
    ],
}


def run(job_id: str, status: str, **summary: int) -> dict[str, Any]:
    return {
        "ID": job_id,
        "ParentID": job_id.partition("/")[0],
        "Status": status,
        "SubmitTime": LAUNCHED,
        "JobSummary": {"Summary": {"dump": summary}},
    }


def failed(allocation_id: str, index: int, code: int) -> dict[str, Any]:
    states = {"dump": ended(code)}
    return {"ID": allocation_id, "ClientStatus": "failed", "CreateIndex": index, "TaskStates": states}


def test_a_job_is_told_with_its_tasks_images_arguments_and_volumes(nomad: FakeNomad, plugin: PluginProcess) -> None:
    nomad.put("job/db", JOB)
    assert plugin.invoke(FUNCTION, {"jobId": "db"}) == {
        "jobId": "db",
        "registered": True,
        "tasks": [
            {"name": "server", "image": "mysql:9.7.4", "args": ["--datadir=/srv/mysql"], "volumes": ["disk"]},
        ],
        "failingRuns": [],
    }


def test_a_job_that_is_not_there_or_stopped_runs_nothing(nomad: FakeNomad, plugin: PluginProcess) -> None:
    assert plugin.invoke(FUNCTION, {"jobId": "db"})["registered"] is False
    nomad.put("job/db", JOB | {"Stop": True})
    assert plugin.invoke(FUNCTION, {"jobId": "db"})["tasks"] == []


def test_runs_that_failed_and_did_not_succeed_since_are_told_with_the_newest_reason(
    nomad: FakeNomad, plugin: PluginProcess
) -> None:
    nomad.put("job/dumps", {"ID": "dumps", "Periodic": {"Enabled": True}})
    nomad.put(
        "jobs",
        [
            run("dumps/periodic-1", "dead", Complete=1),
            run("dumps/periodic-2", "pending", Failed=2),
            run("dumps/periodic-3", "dead", Failed=1, Complete=1),
            run("dumps-restore/dispatch-1", "dead", Failed=1),
        ],
    )
    nomad.put("job/dumps%2Fperiodic-2/allocations", [failed("a2", 20, 5), failed("a1", 10, 1)])
    done = {"ID": "a3", "ClientStatus": "complete", "CreateIndex": 30, "TaskStates": {"dump": ended(0)}}
    nomad.put("job/dumps%2Fperiodic-1/allocations", [done])
    nomad.put("job/dumps%2Fperiodic-3/allocations", [done, failed("a4", 25, 1)])
    assert plugin.invoke(FUNCTION, {"jobId": "dumps"})["failingRuns"] == [
        {
            "jobId": "dumps/periodic-2",
            "failures": 2,
            "since": "2026-01-01T03:00:00Z",
            "allocationId": "a2",
            "task": "dump",
            "reason": "Exit Code: 5",
            "again": True,
        }
    ]


def test_a_run_whose_upload_failed_is_told_with_that_task(nomad: FakeNomad, plugin: PluginProcess) -> None:
    nomad.put("job/dumps", {"ID": "dumps", "Periodic": {"Enabled": True}})
    nomad.put("jobs", [run("dumps/periodic-1", "pending", Failed=1)])
    states = {"dump": ended(0), "upload": ended(1)}
    nomad.put("job/dumps%2Fperiodic-1/allocations", [failed("a1", 10, 1) | {"TaskStates": states}])
    (told,) = plugin.invoke(FUNCTION, {"jobId": "dumps"})["failingRuns"]
    assert (told["task"], told["reason"]) == ("upload", "Exit Code: 1")
