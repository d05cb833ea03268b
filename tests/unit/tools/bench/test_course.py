"""Where the floor's time went, out of what Nomad and EC2 recorded."""

import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from tools.bench import course


def allocation(job: str, status: str, **events: float) -> dict[str, Any]:
    listed = [{"Type": kind.replace("_", " "), "Time": int(at * 1e9)} for kind, at in events.items()]
    return {"JobID": job, "ClientStatus": status, "TaskStates": {"task": {"Events": listed}}}


def attached(at: float) -> str:
    return json.dumps({"action": "AttachVolume", "time": datetime.fromtimestamp(at, UTC).isoformat()})


def jobs(**submitted: float) -> list[dict[str, Any]]:
    return [{"ID": name.replace("_", "-"), "SubmitTime": int(at * 1e9)} for name, at in submitted.items()]


def rig(folder: Path, allocations: list[dict[str, Any]], listed: list[dict[str, Any]], calls: list[str]) -> Any:
    (folder / "ec2-calls.jsonl").write_text("\n".join(calls))
    answers = {"allocations": allocations, "jobs": listed}
    nomad = SimpleNamespace(get=answers.__getitem__)
    return cast("Any", SimpleNamespace(nomad=nomad, settings=SimpleNamespace(log_dir=folder)))


def test_the_course_is_of_this_way_up_alone(tmp_path: Path) -> None:
    found = [
        allocation("plugin-a", "running", Started=101, Plugin_became_healthy=111),
        allocation("plugin-b", "running", Started=100.5, Plugin_became_healthy=112),
        allocation("plugin-b", "complete", Started=10, Plugin_became_healthy=20),
        allocation("mysql-server", "running", Task_Setup=118.5, Started=119),
    ]
    submitted = jobs(plugin_a=100.25, plugin_b=100, mysql_server=117)
    calls = [attached(50), attached(117.5), attached(130)]
    marks = course.marks(rig(tmp_path, found, submitted, calls), 98, 116)
    assert [after for _, after in marks] == [2, 2.5, 13, 18, 19, 19.5, 20.5, 21, 3]
    assert marks[-1][0] == course.OWN


def test_what_did_not_happen_is_left_out(tmp_path: Path) -> None:
    marks = course.marks(rig(tmp_path, [], jobs(plugin_a=100), []), 99, 0)
    assert marks == [("the first job is submitted", 1)]
