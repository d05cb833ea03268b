"""A drill from its plan to the last thing it removes."""

import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from nomad_stateful.ebs.ec2_client import AwsPlace
from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.ownership import FOLDER
from nomad_stateful.nomad.paths import plugin_path, volume_path
from nomad_stateful.operate.cluster import wait_for
from nomad_stateful.operate.drill import scratch as scratches
from nomad_stateful.operate.drill import watch
from nomad_stateful.operate.drill.model import DrillError, Dump, Json, Options, Scratch, Target
from nomad_stateful.operate.drill.report import Report, mib, taken
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.exclusive import FREED_AFTER_S, VariableLock
from nomad_stateful.operate.progress import CONTEXT
from nomad_stateful.waiting import Progress, Stopwatch

# What may go wrong once something was made: it is told in the report, after all of it is removed.
FAILURES = (OperateError, ProviderError)
_LOCKED_TIMEOUT_S = 30.0


def plan(nomad: NomadApi, target: Target, report: Report, options: Options, scratch: Scratch | None) -> str:
    """Returns the plan; without a scratch volume nothing is restored. Raises NomadError."""
    if scratch is None or report.backup is None:
        why = f"there is no dump in {report.dumps}" if report.dumps else f"volume {target.volume} has no snapshot"
        return f"nothing is restored: {why}{' of before --to' if options.to else ''}"
    made = "" if scratches.exists(nomad, target.namespace) else " (made and removed)"
    what = (
        f"start {target.kind.title}, check its tables, count rows"
        if target.kind
        else f"run `{options.check}` in its consumer's task"
    )
    return (
        f"{_restored(target, report, scratch)}\n{_replayed(report)}"
        f"register it as {target.id} in namespace {target.namespace}{made}; {what}\n"
        + ("take a snapshot of it, and " if options.keep else "")
        + "remove all of it. The live volume, its job and its namespace are not touched"
    )


def removal_plan(target: Target) -> str:
    """Returns the plan of --clean."""
    return f"remove what drills of volume {target.volume} left: {target.id} in Nomad, EBS volumes tagged {target.tag}"


def _restored(target: Target, report: Report, scratch: Scratch) -> str:
    found = report.backup
    if isinstance(found, Dump):
        return (
            f"load {found.id} ({mib(found.size)}) of {report.dumps} into a new server on an empty EBS volume "
            f"({scratch.size_gib} GiB, {target.zone})"
        )
    snapshot = "" if found is None else f"{found.id} ({taken(found)})"
    return f"restore {snapshot} to an EBS volume ({scratch.size_gib} GiB, {target.zone})"


def _replayed(report: Report) -> str:
    if report.to is None:
        return ""
    return f"apply {report.logs} binary logs ({mib(report.log_bytes)}) up to {report.to:%Y-%m-%dT%H:%M:%S.%fZ}\n"


class Drill:
    """One drill of one volume. Whatever happens to it, it removes what it made; after a kill the next one does."""

    def __init__(self, nomad: NomadApi, aws: AwsPlace, target: Target, report: Report) -> None:
        self._nomad = nomad
        self._aws = aws
        self._target = target
        self._report = report
        self._external_id = ""

    def run(self, scratch: Scratch, job: Json, timeout_s: float, *, keep: bool = False) -> None:
        """Restores, starts and checks; adds what is wrong to the report. Raises DrillError where another one runs.

        With `keep`, a snapshot of what was restored is taken before it is removed, unless something is wrong with it.
        """
        with self._locked() as lock:
            self._remove_left()
            progress = Progress(CONTEXT, timeout_s)
            done = False
            try:
                self._restore(scratch, job, progress, lock)
                done = self._report.ok or self._report.unchecked
            except FAILURES as error:
                self._report.wrong(str(error), "fix the cause, and run the drill again")
            finally:
                self._remove(lock, timeout_s if keep and done else None)

    def clean(self) -> None:
        """Removes what an earlier drill left. Raises what stands in its way."""
        with self._locked():
            self._remove_left()

    def _remove_left(self) -> None:
        if removed := scratches.remove(self._nomad, self._aws, self._target):
            print(f"    removed what an earlier drill left: {', '.join(removed)}", file=sys.stderr)

    def _restore(self, scratch: Scratch, job: Json, progress: Progress, lock: VariableLock) -> None:
        took = Stopwatch()
        with self._phase("volume", f"an EBS volume in {self._target.zone} {scratch}"):
            self._external_id = scratches.create(self._aws, self._target, scratch)
        self._await_controller(max(0.0, progress.left_s))
        with self._phase("register", f"volume {self._target.id} in namespace {self._target.namespace}"):
            self._register(max(0.0, progress.left_s))
            if not lock.is_held():
                raise DrillError("this drill has lost the volume's lock: its job is not started")
            # Drawn for this server: its init file gives root this password, and the live one is copied nowhere.
            path, password = scratches.variable_path(self._target), {"root_password": secrets.token_urlsafe(24)}
            variable = {"Namespace": self._target.namespace, "Path": path, "Items": password}
            self._nomad.put(f"var/{path}", variable, namespace=self._target.namespace)
            self._nomad.put("jobs", {"Job": job}, namespace=self._target.namespace)
        watch.Watch(self._nomad, self._target, self._report, took, progress).follow()

    def _await_controller(self, timeout_s: float) -> None:
        """Waits until Nomad can register a volume: after the loss of a client or a zone it takes a while."""

        def healthy() -> bool:
            plugin = self._nomad.find(plugin_path(self._target.plugin)) or {}
            return bool(plugin.get("ControllersHealthy") or not plugin.get("ControllerRequired", True))

        what = f"a controller of plugin {self._target.plugin} is healthy"
        wait_for(what, healthy, timeout_s, "`nomad-stateful doctor` says what it lacks.")

    def _register(self, timeout_s: float) -> None:
        """Registers the volume; the controller that Nomad asks may be on a client that it has not called down yet."""
        target = self._target
        volume = {
            "ID": target.id,
            "Name": target.id,
            "Namespace": target.namespace,
            "ExternalID": self._external_id,
            "PluginID": target.plugin,
            "RequestedCapabilities": [{"AccessMode": target.access_mode, "AttachmentMode": target.attachment_mode}],
            "MountOptions": dict(target.mount_options) or None,
        }
        if target.topology_key:
            volume["RequestedTopologies"] = {"Required": [{"Segments": {target.topology_key: target.zone}}]}

        def registered() -> bool:
            self._nomad.put(volume_path(target.id), {"Volumes": [volume]}, namespace=target.namespace)
            return True

        what = f"Nomad registers volume {target.id}"
        wait_for(what, registered, timeout_s, "`nomad-stateful doctor` says what its controllers lack.")

    def _remove(self, lock: VariableLock, keep_timeout_s: float | None) -> None:
        """Removes whatever this drill has made; what cannot be removed is in the report."""
        print("==> remove" if keep_timeout_s is None else "==> keep a snapshot, then remove", file=sys.stderr)
        took = Stopwatch()

        def keep(volume_id: str) -> None:
            if volume_id != self._external_id:
                return
            with self._phase("keep", f"a snapshot of {volume_id}"):
                scratches.keep_snapshot(
                    self._aws, self._target, self._report, volume_id, max(60.0, keep_timeout_s or 0)
                )

        try:
            if not lock.is_held():
                # That one's job, and what it says, have the same names.
                self._report.wrong(
                    f"another drill of volume {self._target.volume} began when this one had not reached Nomad for "
                    "long: what is told here may be of that one, which removes what this one made",
                    "run the same command again after that",
                )
                return
            scratches.remove(self._nomad, self._aws, self._target, None if keep_timeout_s is None else keep)
            if keep_timeout_s is not None and not self._report.kept:
                self._report.wrong(
                    f"no snapshot is kept: EC2 does not show {self._external_id}, which was restored, with the drill's "
                    "tag",
                    "run the same command again",
                )
            self._report.phases["remove"] = round(took.seconds - self._report.phases.get("keep", 0), 2)
        except KeyboardInterrupt:
            self._report.left.append("the removal was interrupted")
            raise
        except FAILURES as error:
            self._report.left.append(str(error))
            with suppress(ProviderError):
                self._report.left += scratches.left_over(self._aws, self._target)
            self._report.wrong(
                f"the drill's scratch volume is not removed: {error}",
                f"`nomad-stateful drill {self._target.volume} --clean` removes it, as the next drill does",
            )

    @contextmanager
    def _locked(self) -> Iterator[VariableLock]:
        target = self._target
        lock = VariableLock(self._nomad, target.namespace, f"{FOLDER}/{target.id}", {"what": "a drill"})
        wait_for(
            f"no other drill of {target.volume} runs",
            lock.take,
            _LOCKED_TIMEOUT_S,
            f"Another drill of this volume runs (one that was killed has it for {FREED_AFTER_S} s): wait for its end.",
        )
        try:
            yield lock
        finally:
            lock.free()

    @contextmanager
    def _phase(self, name: str, what: str) -> Iterator[None]:
        print(f"==> {name}: {what}", file=sys.stderr)
        took = Stopwatch()
        yield
        self._report.phases[name] = round(took.seconds, 2)
