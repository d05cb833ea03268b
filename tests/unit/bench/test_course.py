"""Where the floor's time went, out of what Nomad and EC2 recorded."""

import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from bench import course


def allocation(job: str, status: str, **events: float) -> dict[str, Any]:
    listed = [{"Type": kind.replace("_", " "), "Time": int(at * 1e9)} for kind, at in events.items()]
    return {"JobID": job, "ClientStatus": status, "TaskStates": {"task": {"Events": listed}}}


def attached(at: float) -> str:
    return json.dumps({"action": "AttachVolume", "time": datetime.fromtimestamp(at, UTC).isoformat()})


def test_the_course_is_of_this_way_up_alone(tmp_path: Path) -> None:
    found = [
        allocation("plugin-a", "running", Started=101, Plugin_became_healthy=111),
        allocation("plugin-b", "running", Started=100.5, Plugin_became_healthy=112),
        allocation("plugin-b", "complete", Started=10, Plugin_became_healthy=20),
        allocation("mysql-server", "running", Task_Setup=118.5, Started=119),
    ]
    (tmp_path / "ec2-calls.jsonl").write_text("\n".join([attached(50), attached(117.5), attached(130)]))
    nomad = SimpleNamespace(get=lambda _path: found)
    rig = cast("Any", SimpleNamespace(nomad=nomad, settings=SimpleNamespace(log_dir=tmp_path)))
    floor = cast("Any", SimpleNamespace(seen_healthy_at=116, submitted_at=117))
    assert [at for _, at in course.marks(rig, floor)] == [100.5, 111, 116, 117, 117.5, 118.5, 119]
