"""What a sandbox has, read from its files and from those who keep it, again and again."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from nomad_stateful.databases.dumps import is_dump
from sandbox.cloud.aws_client import client
from sandbox.machine import inventory, loops
from sandbox.machine.control_groups import of_sandbox
from sandbox.settings import SandboxSettings
from sandbox.stack.environment import state_dir
from tools import json_lines
from tools.faults.background import Background
from tools.faults.checks import volume_ids
from tools.faults.lane import Lane
from tools.soak.roles import Usage, usages
from tools.soak.verdict import Point
from tools.trial.namespaces import management

_MIB: Final = 1 << 20
_SCHEDULED: Final = "aws:dlm:lifecycle-schedule-name"
_NOMAD: Final = ("evaluations", "allocations", "jobs", "deployments", "vars", "volumes", "services", "nodes")
Values = dict[str, float]


class Sampler(Background):
    """Takes samples from `begin` to `end`, and appends each to a file."""

    def __init__(self, lane: Lane, file: Path, run: str, period_s: float) -> None:
        self.series: dict[str, list[Point]] = {}
        """By KIND/NAME."""
        self.looks: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        """How often a source was asked, and how often that could not be read; why, the last time."""
        self.errors: dict[str, str] = {}
        self.samples = 0
        self.day = 0
        """The simulated one."""
        self._lane, self._file, self._run, self._period_s = lane, file, run, period_s
        self._began = time.monotonic()
        super().__init__("sampler", self._work)

    def unread(self) -> list[str]:
        """The sources that could not be read more often than not."""
        lost = [name for name, times in self.failures.items() if times > self.looks[name] / 2]
        return [f"{name} could not be read: {self.errors[name]}" for name in lost]

    def look(self, *sources: Callable[[], Values]) -> None:
        """Takes a sample of sources; one that cannot be read has none."""
        at, values, pids = time.monotonic() - self._began, Values(), dict[str, tuple[int, ...]]()
        for source in sources:
            name = source.__name__.removeprefix("_")
            self.looks[name] += 1
            try:
                values |= source()
            except Exception as error:  # what a fault has taken away comes back
                self.failures[name] += 1
                self.errors[name] = f"{type(error).__name__}: {error}"[:160]
        if self._processes in sources:
            pids = self._pids
        for name, value in values.items():
            self.series.setdefault(name, []).append(Point(at, value, pids.get(name.partition("/")[2], ())))
        line = {"run": self._run, "at": round(at, 1), "day": self.day, "values": values, "pids": pids}
        json_lines.append(self._file, line)
        self.samples += 1

    def look_at_everything(self) -> None:
        """Also asks AWS, whose faults count the calls that they strike, and for what is whole between steps alone."""
        self.look(self._processes, self._machine, self._disk, self._nomad, self._nomad_state, self._aws, self._dumps)

    def _work(self) -> None:
        while not self.ending.wait(self._period_s):
            self.look(self._processes, self._machine, self._disk, self._nomad)

    @property
    def _settings(self) -> SandboxSettings:
        return self._lane.settings

    def _processes(self) -> Values:
        found = list(usages(self._settings))
        self._pids = {role: tuple(sorted(one.pid for one in found if one.role == role)) for role in _roles(found)}
        values = Values()
        for one in found:
            for kind, value in (("memory", one.memory_mib), ("files", one.files), ("threads", one.threads)):
                values[f"{kind}/{one.role}"] = values.get(f"{kind}/{one.role}", 0) + value
        # A role without a process counts none; what it would have is no sample.
        seen = {name.partition("/")[2] for name in self.series if name.startswith("processes/")}
        return values | {f"processes/{role}": len(self._pids.get(role, ())) for role in seen | set(self._pids)}

    def _machine(self) -> Values:
        settings, values = self._settings, Counter[str]()
        home = str(settings.home)
        values["mounts"] = sum(home in line for line in _lines(Path("/proc/self/mountinfo")))
        values["network interfaces"] = sum(
            one.name.startswith(f"{settings.name}-") for one in Path("/sys/class/net").iterdir()
        )
        values["loop devices"] = len(loops.devices_under(settings.home))
        groups = [tree / of_sandbox(settings) for tree in (_GROUPS, *_GROUPS.iterdir()) if tree.is_dir()]
        values["control groups"] = sum(len(dirs) for group in groups for _, dirs, _ in os.walk(group))
        for process in self._instances():
            values["mounts"] += len(_lines(process / "mountinfo"))
            values["network interfaces"] += len(_lines(process / "net/dev")) - 2
        return {f"count/{name}": value for name, value in values.items()}

    def _disk(self) -> Values:
        settings, counts = self._settings, Counter[str]()
        pulumi = state_dir(settings) / ".pulumi"
        logs, own = 0, sum(map(_size, settings.log_dir.glob("*")))
        for process in self._instances():
            disk = process / "root/mnt"
            counts["docker images"] += _number(disk / "docker/image/overlay2/imagedb/content/sha256")
            counts["docker containers"] += _number(disk / "docker/containers")
            counts["docker layers"] += _number(disk / "docker/overlay2")
            counts["allocation folders"] += _number(disk / "nomad/alloc")
            logs += sum(map(_size, disk.glob("nomad/alloc/*/alloc/logs/*")))
            own += _size(disk / "docker.log")
        state = sum(map(_size, pulumi.glob("stacks/*/*.json")))
        sizes = {
            "Pulumi state": state,
            "Pulumi history and backups": sum(map(_size, (*pulumi.glob("history/**/*"), *pulumi.glob("backups/**/*")))),
            "Nomad raft": sum(map(_size, (settings.nomad_dir / "server/server/raft").rglob("*"))),
            "logs of allocations": logs,
            "logs of daemons": own,
        }
        return {f"count/{name}": n for name, n in counts.items()} | {f"MiB/{k}": v / _MIB for k, v in sizes.items()}

    def _nomad(self) -> Values:
        with contextlib.closing(management(self._lane.stack)) as api:
            more: dict[str, dict[str, Any]] = {"volumes": {"type": "csi"}, "nodes": {}}
            return {
                f"count/Nomad {kind}": len(api.get(kind, **{"namespace": "*", **more.get(kind, {})})) for kind in _NOMAD
            }

    def _nomad_state(self) -> Values:
        """A snapshot of Nomad's state, which is compressed."""
        address, token = self._lane.stack.env["NOMAD_ADDR"], self._lane.stack.management_token
        request = urllib.request.Request(f"{address}/v1/operator/snapshot", headers={"X-Nomad-Token": token})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=30) as answer:
            return {"MiB/Nomad state snapshot": len(answer.read()) / _MIB}

    def _aws(self) -> Values:
        ec2 = self._lane.stack.ec2
        snapshots = ec2.describe_snapshots(OwnerIds=["self"])["Snapshots"]
        scheduled = Counter(one["VolumeId"] for one in snapshots if _SCHEDULED in _tags(one))
        values = {"EBS volumes": len(ec2.describe_volumes()["Volumes"]), "EBS snapshots": len(snapshots)}
        values["scheduled snapshots of a volume"] = max(scheduled.values(), default=0)
        values["S3 objects"] = sum(1 for _ in _objects(self._lane))
        return {f"count/{name}": value for name, value in values.items()}

    def _dumps(self) -> Values:
        """What is in the file system of the volume, which nobody has mounted."""
        image = self._settings.volume_dir / f"{volume_ids(self._lane)['dumps']}.img"
        words = ["debugfs", "-R", "ls -p /", str(image)]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        return {"count/dumps on the volume": sum(map(is_dump, done.stdout.split("/")))}

    def _instances(self) -> Iterator[Path]:
        records = inventory.records(self._settings)
        yield from (Path(f"/proc/{one.first_process.pid}") for one in records if one.first_process and one.alive)


_GROUPS: Final = Path("/sys/fs/cgroup")


def _roles(found: Iterable[Usage]) -> set[str]:
    return {one.role for one in found}


def _objects(lane: Lane) -> Iterator[str]:
    with contextlib.closing(client(lane.settings, "s3")) as s3:
        for bucket in s3.list_buckets()["Buckets"]:
            pages = s3.get_paginator("list_object_versions").paginate(Bucket=bucket["Name"])
            yield from (one["Key"] for page in pages for one in page.get("Versions") or [])


def _tags(thing: dict[str, Any]) -> set[str]:
    return {tag["Key"] for tag in thing.get("Tags") or []}


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").splitlines()


def _number(folder: Path) -> int:
    return len(list(folder.iterdir())) if folder.is_dir() else 0


def _size(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:
        return 0
