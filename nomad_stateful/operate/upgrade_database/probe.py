"""The new image, tried before anything is stopped: pulled on the server's client, asked for version and options."""

from collections.abc import Mapping
from typing import Any

from nomad_stateful.databases.model import Database
from nomad_stateful.databases.operations import operations
from nomad_stateful.databases.upgrades import UpgradeRefusedError, Version
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.commands import scope
from nomad_stateful.nomad.paths import job_path
from nomad_stateful.nomad.running_job import ENDED, allocations, has_succeeded, last_events
from nomad_stateful.nomad.task_log import TaskLog
from nomad_stateful.operate.cluster import wait_for
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.progress import CONTEXT
from nomad_stateful.operate.upgrade_database.server import task_of
from nomad_stateful.waiting import Pending, Progress

TASK = "probe"
_LATE_LOG_S = 10.0
_POLL_S = 0.2
_KEPT = ("Region", "Datacenters", "NodePool", "Priority", "ConsulNamespace", "VaultNamespace")


class Probe:
    """A batch job of one task, removed at its end; a later one replaces what a kill left."""

    def __init__(self, nomad: NomadApi, kind: Database, job: Mapping[str, Any], node_id: str, timeout_s: float) -> None:
        """Takes the server's job as the update will register it, and the client that runs the server."""
        self._nomad = nomad
        self._kind = kind
        self._probe = operations(kind.name).upgrades.probe
        self._job = job
        self._node_id = node_id
        self._timeout_s = timeout_s
        self.job_id = f"{job['ID']}-upgrade-probe"
        self._namespace = str(job.get("Namespace") or "default")

    def run(self, after: Version) -> None:
        """Raises UpgradeRefusedError where the image is not this version, or refuses the options."""
        try:
            self._remove()
            self._nomad.put("jobs", {"Job": self._made()}, namespace=self._namespace)
            ended = wait_for(
                f"the new image answers on {self._kind.title}'s client (job {self.job_id})",
                self._ended,
                self._timeout_s,
                f"Nothing was changed. See `nomad job status{scope(self._namespace)} {self.job_id}`; --probe-timeout "
                "waits longer.",
            )
            self._judge(ended, after)
        finally:
            self._remove()

    def _judge(self, ended: Mapping[str, Any], after: Version) -> None:
        succeeded = has_succeeded(ended)
        said = self._log(str(ended["ID"]), whole=succeeded)
        found = self._probe.version.search(said)
        if found and found[1] != str(after):
            raise UpgradeRefusedError(
                f"the image has {self._kind.title} {found[1]}, and VERSION is {after}: name another --image"
            )
        if succeeded and found:
            return
        errors = [
            line.partition("[ERROR] ")[2] or line
            for line in said.splitlines()
            if any(word in line for word in self._probe.errors)
        ]
        why = "; ".join(errors) or "; ".join(last_events({"NodeName": "its client", **ended}))
        raise UpgradeRefusedError(
            f"the new image does not start on {self._kind.title}'s client as it is set: {why}. Nothing was changed. "
            f"Correct {self._kind.name}.config, {self._kind.name}.serverArgs or the image, and run the same command "
            "again"
        )

    def _made(self) -> dict[str, Any]:
        name = self._kind.name
        task = task_of(self._job, name)
        if task is None:
            raise OperateError(f"the update's job {self._job['ID']} has no task {name}: is it of this program?")
        files = [
            one for one in task.get("Templates") or [] if str(one.get("DestPath")).endswith(self._probe.options_file)
        ]
        # What a template looks up, its own job alone may read.
        readable = all("{{" not in str(one.get("EmbeddedTmpl")) for one in files)
        options = [str(one) for one in (task["Config"].get("args") or [])[1:]]
        args = [one for one in options if not one.startswith(self._probe.left_out)] if readable else []
        script = {
            "DestPath": "local/probe.sh",
            "EmbeddedTmpl": self._probe.script,
            "ChangeMode": "noop",
            "Perms": "0755",
        }
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
        found = allocations(self._nomad, self.job_id, self._namespace)
        return next((one for one in found if one["ClientStatus"] in ENDED), None)

    def _log(self, allocation_id: str, *, whole: bool) -> str:
        """Returns what it printed; another process writes the log, and may be late with the last lines."""
        text = ""

        def look() -> bool | Pending:
            nonlocal text
            text = TaskLog(self._nomad, self._namespace, allocation_id, TASK).since()
            return not whole or "probe: done" in text or Pending("waiting: the trial's last lines are in its log")

        Progress(CONTEXT, _LATE_LOG_S).wait(look, _POLL_S)
        return text

    def _remove(self) -> None:
        if self._nomad.find(job_path(self.job_id), namespace=self._namespace) is not None:
            self._nomad.delete(job_path(self.job_id), namespace=self._namespace, purge=True)
