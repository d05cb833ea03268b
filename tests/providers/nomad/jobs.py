"""Small jobs for the tests."""

from __future__ import annotations

import json

JOB = "nomad:index/job:Job"


def sleeper(name: str, count: int = 1, command: str = "sleep", namespace: str = "default") -> str:
    """A service that runs for as long as it is let."""
    return f"""
job "{name}" {{
  namespace = "{namespace}"
  group "main" {{
    count = {count}
    update {{
      min_healthy_time  = "1s"
      healthy_deadline  = "20s"
      progress_deadline = "25s"
    }}
    restart {{
      attempts = 0
      mode     = "fail"
    }}
    reschedule {{
      attempts  = 0
      unlimited = false
    }}
    task "main" {{
      driver       = "raw_exec"
      kill_timeout = "1s"
      config {{
        command = "{command}"
        args    = ["3600"]
      }}
      resources {{
        cpu    = 20
        memory = 20
      }}
    }}
  }}
}}
"""


def batch_json(name: str) -> str:
    """A batch job that ends at once, in JSON."""
    task = {
        "Name": "main",
        "Driver": "raw_exec",
        "Config": {"command": "true"},
        "Resources": {"CPU": 20, "MemoryMB": 20},
    }
    group = {"Name": "main", "Count": 1, "Tasks": [task]}
    return json.dumps({"Job": {"ID": name, "Name": name, "Type": "batch", "Datacenters": ["*"], "TaskGroups": [group]}})
