"""The drain itself: consumers first, their volumes seen detached, then everything else, plugins last.

Nomad's own drain calls an allocation done when its tasks have ended, which is before its volumes are unmounted, and
stops plugins as soon as all are: a volume may then stay attached, or be detached while it is mounted. So consumers are
stopped here, while every plugin runs, and Nomad drains the rest.
Below https://github.com/hashicorp/nomad/blob/v1.11.3/: IsDone in nomad/drainer/draining_node.go, Run in
client/allocrunner/alloc_runner.go.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from nomad_stateful.ebs.volumes import EbsVolumes
from nomad_stateful.nomad import clients, controllers
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.paths import job_path, plugin_path
from nomad_stateful.nomad.running_job import ENDED, allocations, is_healthy, is_running, is_unhealthy
from nomad_stateful.operate.cluster import asked
from nomad_stateful.operate.drain import node as nodes
from nomad_stateful.operate.drain.node import Allocation, LettingGo
from nomad_stateful.operate.drain.plan import DrainPlan, Leaving, Places, leaving
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.progress import context, say
from nomad_stateful.waiting import Pending, Progress, Stopwatch

POLL_S = 0.5
REPORT_EVERY_S = 10.0


class NotDrainedError(OperateError):
    """The deadline passed; the message says what is still there."""

    exit_status = 3


@dataclass(frozen=True)
class Options:
    """How a drain is done."""

    deadline_s: float
    keep_system: bool = False
    """Whether system jobs, node plugins among them, go on."""
    stop_batch: bool = False
    """Whether batch jobs with volumes are stopped instead of waited for."""
    leave_down: bool = False
    """Whether jobs are stopped that no other client can take."""


State = Literal["waiting", "stopping", "starting", "done"]


@dataclass
class Mover:
    """One consumer on its way."""

    leaving: Leaving
    volumes: Sequence[LettingGo]
    state: State = "waiting"
    stopped: Stopwatch = field(default_factory=Stopwatch)
    released_s: float | None = None
    """Seconds from the stop until the client had let go of its volumes."""
    runs_on: str = ""
    """The client that its job runs on since."""
    what: str = "waiting for its turn"

    @property
    def key(self) -> tuple[str, str]:
        """Its job: one instance of a job moves at a time."""
        return self.leaving.allocation.namespace, self.leaving.allocation.job_id


@dataclass
class Drain:
    """Takes one client out of service. The same drain, begun anew, goes on from what it finds."""

    api: NomadApi
    ebs: EbsVolumes | None
    plan: DrainPlan
    options: Options
    say: Callable[[str], None] = say
    poll_s: float = POLL_S
    has_to_stay: Callable[[Allocation], str] = lambda _: ""
    """Why a consumer may not stop now: "" where it may."""
    movers: list[Mover] = field(default_factory=list)
    _progress: Progress = field(init=False)

    def __post_init__(self) -> None:
        self._progress = Progress(context(self.say), self.options.deadline_s, REPORT_EVERY_S)

    def run(self) -> None:
        """Drains. Raises NotDrainedError at the deadline, and ProviderError."""
        node = self.plan.node
        if node.eligible:
            clients.set_eligible(self.api, node.id, eligible=False)
            self.say(f"{node.name} takes no new allocations")
        consumers = [one for one in self.plan.consumers if not (self.options.keep_system and one.allocation.is_system)]
        self.movers = [Mover(one, self._volumes(one)) for one in consumers]
        strays = [LettingGo(self.api, self.ebs, node, volume) for volume in self.plan.left_attached]
        self._until(lambda: self._move() or self._held(strays))
        if self.movers or strays:
            self.say("every volume has left the client")
        self._drain_rest()
        self._until(self._still_there)

    def _volumes(self, consumer: Leaving) -> list[LettingGo]:
        one = consumer.allocation
        return [LettingGo(self.api, self.ebs, self.plan.node, volume, [one.id]) for volume in one.volumes]

    def _until(self, waits_for: Callable[[], Sequence[str]]) -> None:
        """Returns once nothing is waited for any more, and says meanwhile what is. Raises NotDrainedError."""
        pending: Sequence[str] = ()

        def look() -> bool | Pending:
            nonlocal pending
            found, error = asked(waits_for)
            # A transient error of Nomad or EC2 is waited for too.
            pending = [error] if found is None else found
            return Pending(f"waiting: {'; '.join(pending)}") if pending else True

        if isinstance(self._progress.wait(look, self.poll_s), Pending):
            raise NotDrainedError(
                f"{self.plan.node.name} is not drained after {self.options.deadline_s:.0f} s: "
                f"{'; '.join(pending)}. It takes no new allocations; run the same command to resume"
            )

    def _move(self) -> list[str]:
        """Takes each consumer a step further; returns what is waited for."""
        for mover in self.movers:
            if mover.state == "waiting":
                self._begin(mover)
            if mover.state == "stopping":
                self._release(mover)
            if mover.state == "starting":
                self._await_start(mover)
        return [f"{one.leaving.allocation}: {one.what}" for one in self.movers if one.state != "done"]

    def _begin(self, mover: Mover) -> None:
        one = mover.leaving.allocation
        stub = self._stub(one.id)
        if stub.get("ClientStatus", "complete") in ENDED or stub.get("DesiredStatus") == "stop":
            self._stopping(mover)
        elif one.is_batch and not self.options.stop_batch:
            mover.what = "a batch job is left to end by itself (--stop-batch stops it)"
        elif one.is_system:
            # Nomad's drain stops it, as soon as no other consumer is left.
            if all(other.state == "done" or other.leaving.allocation.is_system for other in self.movers):
                self._drain_rest()
                self._stopping(mover)
        elif any(other.key == mover.key and other.state in ("stopping", "starting") for other in self.movers):
            mover.what = "another instance of its job moves"
        elif why := self.has_to_stay(one):
            mover.what = f"not stopped before the others of its replication group are ONLINE: {why}"
        elif lacks := list(self._lacks(mover)):
            mover.what = f"not stopped before its volumes can be unmounted and detached: {'; '.join(lacks)}"
        elif why := self._stays_down(one):
            mover.what = f"not stopped, since it would stay down: {why}"
        else:
            self.api.put(f"allocation/{one.id}/stop", {}, namespace=one.namespace)
            self.say(f"{one} is stopping")
            self._stopping(mover)

    def _stopping(self, mover: Mover) -> None:
        mover.state, mover.what = "stopping", "its tasks are ending"
        mover.stopped.restart()

    def _lacks(self, mover: Mover) -> Iterator[str]:
        """Yields what keeps Nomad from unmounting or detaching: it skips both, or detaches what is mounted."""
        node = clients.get(self.api, self.plan.node.id)
        for plugin_id in sorted({volume.plugin_id for volume in mover.leaving.allocation.volumes}):
            yield from controllers.lacks(plugin_id, self.api.find(plugin_path(plugin_id)) or {})
            if not node.has_healthy_plugin(plugin_id):
                yield f"the node plugin of CSI plugin {plugin_id} is not healthy on {node.name}"

    def _stays_down(self, one: Allocation) -> str:
        """Returns why no other client can take it by now, "" where one can, or need not."""
        return "" if self.options.leave_down else leaving(Places(self.api, self.plan.node), one).stays_down

    def _release(self, mover: Mover) -> None:
        one = mover.leaving.allocation
        if self._stub(one.id).get("ClientStatus", "complete") not in ENDED:
            return
        if held := self._held(mover.volumes):
            mover.what = "; ".join(held)
            return
        mover.released_s = mover.stopped.seconds
        self.say(f"{one}: {', '.join(volume.id for volume in one.volumes)} left after {mover.released_s:.1f} s")
        moves = mover.leaving.clients and not one.is_batch
        mover.state, mover.what = ("starting", "its job starts elsewhere") if moves else ("done", "")

    def _held(self, volumes: Sequence[LettingGo]) -> list[str]:
        return [f"volume {one.volume.id} is {why}" for one in volumes if (why := one.holds())]

    def _await_start(self, mover: Mover) -> None:
        """An instance counts as moved when its deployment or migration has found it healthy."""
        one = mover.leaving.allocation
        job = self.api.find(job_path(one.job_id), namespace=one.namespace)
        if job is None or job.get("Stop"):
            mover.state = "done"
            return
        listed = allocations(self.api, one.job_id, one.namespace)
        after = [stub for stub in listed if stub["Name"] == one.name and stub["ID"] != one.id and _is_wanted(stub)]
        for stub in after:
            if is_healthy(stub) or (is_running(stub) and not stub.get("DeploymentStatus") and job["Type"] != "service"):
                mover.state, mover.runs_on = "done", str(stub["NodeName"])
                self.say(f"{one} runs on {mover.runs_on} as {stub['ID'][:8]}")
                return
            unhealthy = ", found unhealthy" if is_unhealthy(stub) else ""
            mover.what = f"{stub['ID'][:8]} on {stub['NodeName']} is {stub['ClientStatus']}{unhealthy}"

    def _drain_rest(self) -> None:
        """Has Nomad drain what is left: services, then controllers and system jobs."""
        node_id, left_s = self.plan.node.id, max(1.0, self._progress.left_s)
        if not clients.get(self.api, node_id).draining:
            message = "nomad-stateful drain"
            clients.drain(self.api, node_id, left_s, keep_system=self.options.keep_system, message=message)

    def _still_there(self) -> list[str]:
        """Returns what Nomad's drain still waits for, and what is attached after all."""
        node = clients.get(self.api, self.plan.node.id)
        running = [
            one for one in nodes.allocations(self.api, node.id) if not (self.options.keep_system and one.is_system)
        ]
        found = [f"{one} is still there" for one in running]
        found += ["Nomad has not ended its drain"] if node.draining and not found else []
        return found + self._held([volume for mover in self.movers for volume in mover.volumes])

    def _stub(self, allocation_id: str) -> Mapping[str, Any]:
        return self.api.find(f"allocation/{allocation_id}") or {}


def _is_wanted(stub: Mapping[str, Any]) -> bool:
    return bool(stub["DesiredStatus"] == "run" and stub["ClientStatus"] not in ENDED)
