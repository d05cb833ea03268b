"""kill -9 of Pulumi in the middle of an up, of a change and of a destroy, alone or with something of Nomad."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from subprocess import CompletedProcess
from typing import Final

from sandbox.machine.machine import descendants
from tools.faults.lane import UP_TIMEOUT_S, Lane
from tools.faults.model import Fault, Run, State
from tools.faults.victims import Choice, Victim, client_agent, server_agent

ENGINE, WITH_CHILDREN, COMMAND = "the engine", "the engine with its plugins and program", "the command above the engine"
_WHO: Final = (ENGINE, ENGINE, WITH_CHILDREN, COMMAND)
MAX_CONNECTIONS: Final = ("nomad-stateful:{server}.config.max_connections", ("120", "140"))
"""A setting as a path in a stack's file, and two values of it."""
_MOUNT_FLAGS: Final = ("nomad-stateful:volumes[0].mountFlags[0]", ("noatime", "nodiratime"))


def cut_off(lane: Lane, draw: random.Random, words: Sequence[str], typical: str, victims: Sequence[Victim]) -> str:
    """Starts a command of the sandbox, and kills it with the victims at an instant drawn over its whole duration."""
    instant, who = draw.random() * lane.typical_s[typical], draw.choice(_WHO)
    began = time.monotonic()
    process = lane.start(lane.stack.python, "-m", "sandbox", *words)
    with lane.waits("the instant of the kill", instant), contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(instant)
    ended = process.poll()
    if ended is None:
        kill(process.pid, who)
    for victim in victims:
        victim.kill()
    lane.injected()
    with lane.waits(f"python -m sandbox {words[0]} ends", UP_TIMEOUT_S):
        process.wait(UP_TIMEOUT_S)
    also = "".join(f" and {victim.what}" for victim in victims)
    if ended is None:
        return f"killed {who}{also} after {instant:.1f} s"
    assert ended == 0, f"{' '.join(words)} failed by itself: see the commands' logs"
    lane.typical_s[typical] = time.monotonic() - began
    return f"ended by itself before {instant:.1f} s{f'; killed{also[4:]}' if also else ''}"


def kill(command: int, who: str) -> None:
    """kill -9 of the engine below a command, of it with all its children, or of the command, whose engine lives on.

    While there is no engine, whatever runs of the command is killed.
    """
    family = descendants(command)
    engines = [pid for pid in family if _name(pid) == "pulumi"]
    if who == ENGINE and engines:
        hit = engines
    elif who == WITH_CHILDREN or not engines:
        hit = [command, *family]
    else:
        hit = [command]
    for pid in hit:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _name(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
    return ""


def _converged(done: CompletedProcess[str]) -> None:
    assert done.returncode == 0, f"the same command again failed: {done.stdout}{done.stderr}"


def _up(lane: Lane, draw: random.Random, typical: str, choices: Sequence[Choice]) -> str:
    victims = [choice(lane, draw) for choice in choices]
    seen = cut_off(lane, draw, lane.up_words, typical, victims)
    _converged(lane.up())
    for victim in victims:
        victim.await_back()
    lane.await_plugins()
    return seen


def _from_empty(*choices: Choice) -> Run:
    return lambda lane, draw: _up(lane, draw, "up", choices)


def switch(lane: Lane, setting: tuple[str, tuple[str, str]]) -> None:
    """Gives a setting the one of its two values that it does not have."""
    path, values = setting[0].format(server=lane.server.name), setting[1]
    lane.set(path, values[lane.setting(path) == values[0]])


def _change(setting: tuple[str, tuple[str, str]], *choices: Choice) -> Run:
    def run(lane: Lane, draw: random.Random) -> str:
        switch(lane, setting)
        return _up(lane, draw, "change", choices)

    return run


def _destroyed(*choices: Choice) -> Run:
    def run(lane: Lane, draw: random.Random) -> str:
        victims = [choice(lane, draw) for choice in choices]
        seen = cut_off(lane, draw, lane.destroy_words, "destroy", victims)
        _converged(lane.destroy())
        return seen

    return run


def _reprieved(lane: Lane, draw: random.Random) -> str:
    """After a destroy that was cut off somebody wants the stack back: where the volume is left, so are its rows."""
    volume = _data_volume(lane)
    # Where the volume is gone, the data is another one; where it is not, every row is asked for.
    lane.writer.leave()
    seen = cut_off(lane, draw, lane.destroy_words, "destroy", [])
    _converged(lane.up())
    kept = _data_volume(lane) == volume
    if not kept:
        lane.writer.end()
    return f"{seen}; the data's volume was {'still there' if kept else 'gone'}"


def _data_volume(lane: Lane) -> str:
    volumes = [item for item in lane.resources() if item["type"] == "aws:ebs/volume:Volume"]
    return next((str(item["id"]) for item in volumes if f"ebs-{lane.server.volume}" in item["urn"]), "")


def _fault(
    name: str, run: Run, weight: int, seconds: float, *, needs: State = "deployed", leaves: State = "deployed"
) -> Fault:
    return Fault(name, "engine", run, weight, needs=needs, leaves=leaves, seconds=seconds)


FAULTS = (
    _fault("kill -9 of pulumi up from empty", _from_empty(), 6, 60, needs="empty"),
    _fault("kill -9 of pulumi up of a changed {title} setting", _change(MAX_CONNECTIONS), 5, 30),
    _fault("kill -9 of pulumi up of a changed registration", _change(_MOUNT_FLAGS), 5, 30),
    _fault("kill -9 of pulumi destroy", _destroyed(), 6, 25, leaves="empty"),
    _fault("kill -9 of pulumi destroy, then up", _reprieved, 2, 50),
    _fault("kill -9 of pulumi up and a client agent", _change(MAX_CONNECTIONS, client_agent), 2, 50),
    _fault("kill -9 of pulumi up and the server agent", _from_empty(server_agent), 2, 70, needs="empty"),
    _fault("kill -9 of pulumi destroy and a client agent", _destroyed(client_agent), 2, 40, leaves="empty"),
    _fault("kill -9 of pulumi destroy and the server agent", _destroyed(server_agent), 2, 40, leaves="empty"),
)
