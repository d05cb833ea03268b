"""One pass of a contender: from nothing, through everything it can do, to nothing."""

from __future__ import annotations

import time
from collections.abc import Callable

from nomad_stateful.nomad import clients
from nomad_stateful.nomad.running_job import Endpoint, endpoint
from tools.bench import course, verification
from tools.bench.answering import Watch
from tools.bench.contender import Contender, Failed
from tools.bench.plugin_health import HealthWatch
from tools.bench.pulumi import Engine, Pulumi
from tools.bench.recorder import Recorder
from tools.bench.rig import Rig, wait_until
from tools.bench.wanted import MYSQL

ANSWER_TIMEOUT_S = 120.0
CHANGED_MEMORY_MIB = 1152
# A server that just started cannot be told from one that starts now.
_SETTLE_S = 3.0


class Passes:
    """Runs passes on one rig and keeps their samples."""

    def __init__(self, rig: Rig, recorder: Recorder) -> None:
        self._rig = rig
        self._recorder = recorder

    def run(self, contender: Contender, repetition: int) -> None:
        """A pass; whatever fails in it, the next one starts from nothing."""
        if isinstance(contender, Engine):
            self.run_engine(contender, repetition)
            return
        # The same start for everyone: nothing of a stack, no plugin in Nomad.
        self._rig.sweep()
        self._rig.forget_plugin()
        if isinstance(contender, Pulumi):
            self._time("preview of everything", contender, repetition, contender.preview)
        started = time.time()
        with HealthWatch(self._rig.nomad) as health, Watch(self._rig.mysql_addresses, self._rig.password) as watch:
            up = self._recorder.answered(
                "up", contender.name, repetition, contender.up, lambda: watch.seconds(ANSWER_TIMEOUT_S)
            )
        try:
            if up:
                for name, seconds in course.marks(self._rig, started, health.seen_at):
                    self._recorder.keep(course.CASE, contender.name, name, repetition, seconds)
                self._while_up(contender, repetition)
        finally:
            self._destroy(contender, repetition, measured=up)

    def run_engine(self, engine: Engine, repetition: int) -> None:
        """A pass of a program without resources: what comes before any line of a program, and after the last."""
        self._time("preview of everything", engine, repetition, engine.preview)
        engine.up()
        self._time("preview", engine, repetition, engine.preview)
        self._time("up without a change", engine, repetition, engine.up)
        if not self._recorder.time("destroy", engine.name, "nothing left", repetition, engine.destroy):
            engine.forget()

    def _while_up(self, contender: Contender, repetition: int) -> None:
        if isinstance(contender, Pulumi):
            self._time("preview", contender, repetition, contender.preview)
            self._time("up without a change", contender, repetition, contender.up)
        self._change(contender, repetition)
        if contender.name in ("floor", "ours"):
            self._drain(contender, repetition)
        if contender.name == "ours":
            verification.measure(self._rig.running, self._recorder, repetition)

    def _time(self, case: str, contender: Pulumi, repetition: int, action: Callable[[], object]) -> None:
        self._recorder.time(case, contender.name, "command", repetition, action)

    def _change(self, contender: Contender, repetition: int) -> None:
        time.sleep(_SETTLE_S)
        with Watch(self._rig.mysql_addresses, self._rig.password, started_after=True) as watch:
            self._recorder.answered(
                "setting",
                contender.name,
                repetition,
                lambda: contender.change(CHANGED_MEMORY_MIB),
                lambda: watch.seconds(ANSWER_TIMEOUT_S),
            )

    def _drain(self, contender: Contender, repetition: int) -> None:
        """By Nomad's own command: what differs is the stack that it meets."""
        # A server that has only just started, and is not healthy yet, takes longer to go.
        wait_until("MySQL is healthy", self._is_healthy, 60)
        time.sleep(_SETTLE_S)
        at = self._endpoint()
        others = [address for address in self._rig.mysql_addresses if address[0] != at.host]
        try:
            with Watch(others, self._rig.password) as watch:
                self._recorder.answered(
                    "drain",
                    contender.name,
                    repetition,
                    lambda: self._drain_command(at),
                    lambda: watch.seconds(ANSWER_TIMEOUT_S),
                )
        finally:
            clients.undrain(self._rig.nomad, at.node_id)
        wait_until("the drain is over", lambda: clients.get(self._rig.nomad, at.node_id).takes_work, 60)

    def _is_healthy(self) -> bool:
        deployment = self._rig.nomad.get(f"job/{MYSQL}/deployment")
        return bool(deployment) and deployment["Status"] == "successful"

    def _drain_command(self, at: Endpoint) -> None:
        running = self._rig.running
        words = ["node", "drain", "-enable", "-ignore-system", "-detach", "-yes", at.node_id]
        token = running.env.get("NOMAD_OPERATOR_TOKEN", "")
        done = running.run("nomad", *words, more_env={"NOMAD_TOKEN": token})
        if done.returncode != 0:
            raise Failed(f"nomad node drain failed: {done.stderr.strip()[:160]}")

    def _endpoint(self) -> Endpoint:
        found: list[Endpoint] = []

        def probe() -> bool:
            at = endpoint(self._rig.nomad, MYSQL, "default", "mysql", "db")
            found[:] = [] if at is None else [at]
            return bool(found)

        wait_until("MySQL runs", probe, 60)
        return found[0]

    def _destroy(self, contender: Contender, repetition: int, *, measured: bool) -> None:
        def until_nothing_is_left() -> None:
            contender.destroy()
            wait_until("nothing is left", lambda: not self._rig.left(), 60)

        record = self._recorder
        if measured and record.time("destroy", contender.name, "nothing left", repetition, until_nothing_is_left):
            return
        record.say(f"sweeping up by hand what {contender.name} left: {', '.join(self._rig.left()) or 'nothing'}")
        self._rig.sweep()
        contender.forget()
