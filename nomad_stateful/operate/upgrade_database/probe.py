"""The new image, tried before anything is stopped: pulled on MySQL's client, asked for its version and for the options.

`--validate-config` reads the options as a start does, and opens no data directory.
https://dev.mysql.com/doc/refman/8.4/en/server-configuration-validation.html
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any

from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.paths import job_path
from nomad_stateful.nomad.running_job import ENDED, last_events
from nomad_stateful.nomad.task_log import TaskLog
from nomad_stateful.operate.cluster import wait_for
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.upgrade_database.registered import task_of
from nomad_stateful.operate.upgrade_database.releases import MysqlUpgradeRefusedError, Version

TASK = "probe"
_SCRIPT = """set -u
server=$(command -v mysqld) || { echo "no mysqld in this image"; exit 1; }
"$server" --version
[ "$OPTIONS" = skip ] || "$server" "$@" --validate-config 2>&1 || exit 1
echo "probe: done"
"""
# Of files that are the server's alone, or that differ from start to start.
_LEFT_OUT = ("--init-file=", "--ssl-", "--datadir=", "--port=")
_LATE_LOG_S = 10.0
_KEPT = ("Region", "Datacenters", "NodePool", "Priority", "ConsulNamespace", "VaultNamespace")


class Probe:
    """A batch job of one task, removed at its end; a later one replaces what a kill left."""

    def __init__(self, nomad: NomadApi, job: Mapping[str, Any], node_id: str, timeout_s: float) -> None:
        """Takes the server's job as the update will register it, and the client that runs the server."""
        self._nomad = nomad
        self._job = job
        self._node_id = node_id
        self._timeout_s = timeout_s
        self.job_id = f"{job['ID']}-upgrade-probe"
        self._namespace = str(job.get("Namespace") or "default")

    def run(self, after: Version) -> None:
        """Raises MysqlUpgradeRefusedError where the image is not this version, or refuses the options."""
        try:
            self._remove()
            self._nomad.put("jobs", {"Job": self._made()}, namespace=self._namespace)
            ended = wait_for(
                f"the new image answers on MySQL's client (job {self.job_id})",
                self._ended,
                self._timeout_s,
                f"Nothing was changed. See `nomad job status {self.job_id}`; --probe-timeout waits longer.",
            )
            self._judge(ended, after)
        finally:
            self._remove()

    def _judge(self, ended: Mapping[str, Any], after: Version) -> None:
        said = self._log(str(ended["ID"]), whole=ended["ClientStatus"] == "complete")
        found = re.search(r"Ver (\d+\.\d+\.\d+)", said)
        if found and found[1] != str(after):
            raise MysqlUpgradeRefusedError(
                f"the image has MySQL {found[1]}, and VERSION is {after}: name another --image"
            )
        if ended["ClientStatus"] == "complete" and found:
            return
        errors = [
            line.partition("[ERROR] ")[2] or line
            for line in said.splitlines()
            if "ERROR" in line or "no mysqld" in line
        ]
        why = "; ".join(errors) or "; ".join(last_events({"NodeName": "its client", **ended}))
        raise MysqlUpgradeRefusedError(
            f"the new image does not start on MySQL's client as it is set: {why}. Nothing was changed. Correct "
            "mysql.config, mysql.serverArgs or the image, and run the same command again"
        )

    def _made(self) -> dict[str, Any]:
        task = task_of(self._job)
        if task is None:
            raise OperateError(f"the update's job {self._job['ID']} has no task mysql: is it of this program?")
        files = [one for one in task.get("Templates") or [] if str(one.get("DestPath")).endswith("my.cnf")]
        # What a template looks up, its own job alone may read.
        readable = all("{{" not in str(one.get("EmbeddedTmpl")) for one in files)
        options = [str(one) for one in (task["Config"].get("args") or [])[1:]]
        args = [one for one in options if not one.startswith(_LEFT_OUT)] if readable else []
        script = {"DestPath": "local/probe.sh", "EmbeddedTmpl": _SCRIPT, "ChangeMode": "noop", "Perms": "0755"}
        config = {key: value for key, value in task["Config"].items() if key in ("image", "auth", "auth_soft_fail")}
        probe = {
            "Name": TASK,
            "Driver": task["Driver"],
            "Config": {**config, "entrypoint": ["/bin/sh"], "args": ["${NOMAD_TASK_DIR}/probe.sh", *args]},
            "Env": {"OPTIONS": "check" if readable else "skip"},
            "Templates": [script, *(files if readable else [])],
            "LogConfig": {"MaxFiles": 1, "MaxFileSizeMB": 5},
            "Resources": {"CPU": 50, "MemoryMB": 128},
        }
        group = {
            "Name": TASK,
            "Count": 1,
            "Tasks": [probe],
            "RestartPolicy": {"Attempts": 0, "Mode": "fail", "Interval": int(3600e9), "Delay": int(1e9)},
            "ReschedulePolicy": {"Attempts": 0, "Unlimited": False},
            "Constraints": [{"LTarget": "${node.unique.id}", "RTarget": self._node_id, "Operand": "="}],
            "EphemeralDisk": {"SizeMB": 20},
        }
        return {
            **{key: self._job[key] for key in _KEPT if self._job.get(key)},
            "ID": self.job_id,
            "Name": self.job_id,
            "Namespace": self._namespace,
            "Type": "batch",
            "TaskGroups": [group],
        }

    def _ended(self) -> dict[str, Any] | None:
        found = self._nomad.get(f"{job_path(self.job_id)}/allocations", namespace=self._namespace) or []
        return next((dict(one) for one in found if one["ClientStatus"] in ENDED), None)

    def _log(self, allocation_id: str, *, whole: bool) -> str:
        """Returns what it printed; another process writes the log, and may be late with the last lines."""
        deadline = time.monotonic() + _LATE_LOG_S
        while True:
            text = TaskLog(self._nomad, self._namespace, allocation_id, TASK).since()
            if not whole or "probe: done" in text or time.monotonic() >= deadline:
                return text
            time.sleep(0.2)

    def _remove(self) -> None:
        if self._nomad.find(job_path(self.job_id), namespace=self._namespace) is not None:
            self._nomad.delete(job_path(self.job_id), namespace=self._namespace, purge=True)
