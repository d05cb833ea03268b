"""AWS throttles, fails, does not answer, or is not consistent yet: the same command brings the stack there."""

from __future__ import annotations

import random
from subprocess import CompletedProcess
from typing import Final

from tools.faults.api_faults import Command, aws_fault, aws_outage, error_of, repeated
from tools.faults.lane import Lane
from tools.faults.model import Fault, Run
from tools.trial.running import ended_well, eventually

# Two controllers, three node plugins and Pulumi, each with several requests under way.
_BUSIEST_CALLS_PER_S: Final = 12.0
_MOVE_TIMEOUT_S: Final = 240.0
_RELEASE_S: Final = 15


def _up(lane: Lane, kind: str, *options: str) -> str:
    """An `up` from empty with the fault in force, then once more without it where it did not get through."""
    return _struck(lane, "up", lane.up, kind, *options)


def _struck(lane: Lane, does: str, command: Command, kind: str, *options: str) -> str:
    with aws_fault(lane, kind, *options) as calls:
        first = command()
        struck = len(calls.struck())
    assert struck, "the fault struck no call"
    return f"{kind} struck {struck} calls; {does} {_went(first, command)}"


def _went(first: CompletedProcess[str], command: Command) -> str:
    """How the first run of a command ended; where it failed, the same command is run until it goes through."""
    return "went through" if first.returncode == 0 else f"failed ({error_of(first)}), then went {repeated(command)}"


def _hidden_volume(lane: Lane, chance: random.Random) -> str:
    """A volume that CreateVolume made is not described for seconds."""
    seconds = chance.uniform(3, 8)
    with aws_fault(lane, "invisible", "--seconds", f"{seconds:.1f}") as calls:
        done = lane.up()
        missed = [call for call in calls.read() if call["error"] == "InvalidVolume.NotFound"]
    assert missed, "no call missed a volume"
    ended_well(done)
    return f"new volumes not described for {seconds:.1f} s: asked {len(missed)} times; up went through"


def _never_answered(lane: Lane, _chance: random.Random) -> str:
    """CreateVolume takes effect, but no attempt is ever answered: the next `up` finds what was made."""
    with aws_fault(lane, "drop", "--action", "CreateVolume", "--after") as calls:
        failed = lane.up(AWS_MAX_ATTEMPTS="2")
        struck = len(calls.struck())
    assert failed.returncode != 0, "it went through although no CreateVolume was answered"
    return f"{struck} CreateVolume without an answer; up {repeated(lane.up)}"


def _throttled_for_a_while(lane: Lane, chance: random.Random) -> str:
    """Every call is refused for some seconds in the middle of an `up`: nobody hammers the API meanwhile."""
    seconds = chance.uniform(8, 15)
    with aws_outage(lane, "throttle", chance.uniform(2, 12), seconds) as calls:
        seen = repeated(lane.up)
    struck = calls.struck()
    rate = len(struck) / seconds
    assert rate <= _BUSIEST_CALLS_PER_S, f"{len(struck)} calls in {seconds:.0f} s while all were refused"
    return f"all refused for {seconds:.0f} s: {rate:.1f} calls/s; up {seen}"


def _unreachable(lane: Lane, chance: random.Random, does: str, command: Command) -> str:
    """No call is answered for some seconds in the middle."""
    seconds = chance.uniform(5, 15)
    with aws_outage(lane, "drop", chance.uniform(0, lane.typical_s[does] / 2), seconds) as calls:
        seen = repeated(command)
    return f"unreachable for {seconds:.0f} s, {len(calls.struck())} calls without an answer; {does} {seen}"


def _unreachable_destroy(lane: Lane, chance: random.Random) -> str:
    lane.writer.end()
    return _unreachable(lane, chance, "destroy", lane.destroy)


def _destroy(lane: Lane, kind: str, *options: str) -> str:
    """A `destroy` with the fault in force."""
    lane.writer.end()
    return _struck(lane, "destroy", lane.destroy, kind, *options)


def _move(lane: Lane, kind: str, *options: str) -> str:
    """The database's allocation is stopped with the fault in force: it starts again, here or on the other client."""
    before = lane.stack.server_endpoint()
    with aws_fault(lane, kind, *options) as calls:
        _stop_allocation(lane, before.allocation_id)
        after = lane.stack.server_endpoint(not_allocation=before.allocation_id, timeout_s=_MOVE_TIMEOUT_S)
        asked = [call for call in calls.read() if call["action"] in {"AttachVolume", "DetachVolume"}]
    ended_well(lane.up())
    return f"{kind}: from {before.node_name} to {after.node_name} with {len(asked)} calls to attach or detach"


def _stuck_detach(lane: Lane, _chance: random.Random) -> str:
    """A detachment never ends: `destroy` says who holds the volume and forces nothing; later it goes through."""
    key = lane.server.key("releaseTimeoutS")
    usual = lane.setting(key)
    lane.set(key, str(_RELEASE_S))
    ended_well(lane.up())
    lane.writer.end()
    try:
        with aws_fault(lane, "detach") as calls:
            refused = lane.destroy()
            detached = [call for call in calls.read() if call["action"] == "DetachVolume"]
        said = refused.stdout + refused.stderr
        assert refused.returncode != 0, "it went through although the volume is attached"
        assert detached, "nobody asked to detach the volume"
        assert all(call["params"].get("Force", "false") != "true" for call in detached), "it was forced"
        for part in ("is still in use after", "nothing was forced", "(detaching since ", "Next: "):
            assert part in said, f"no word of {part!r} in:\n{said[-4000:]}"
        seen = repeated(lane.destroy, attempts=6)
    finally:
        lane.set(key, usual)
    step = next(line.strip() for line in said.splitlines() if "Next: " in line)
    return f"refused with {step[:100]!r}; then destroy {seen}"


def _stop_allocation(lane: Lane, allocation_id: str) -> None:
    lane.stack.nomad.put(f"allocation/{allocation_id}/stop", {})
    eventually(
        lambda: lane.stack.nomad.get(f"allocation/{allocation_id}")["ClientStatus"] != "running" or None,
        _MOVE_TIMEOUT_S,
        "the stopped allocation ends",
        lane.stack.diagnosis,
    )


def _made(name: str, run: Run, weight: int = 1, seconds: float = 50) -> Fault:
    return Fault(name, "aws", run, weight, needs="empty", leaves="deployed", seconds=seconds)


def _gone(name: str, run: Run) -> Fault:
    return Fault(name, "aws", run, needs="deployed", leaves="empty", seconds=40)


FAULTS = (
    _made("AWS throttles some calls of an up", lambda lane, _: _up(lane, "throttle", "--probability", "0.3")),
    _made("AWS throttles every call of an up for seconds", _throttled_for_a_while),
    _made("AWS answers some calls of an up with a 500", lambda lane, _: _up(lane, "error", "--probability", "0.3")),
    _made(
        "IAM answers with a 500 what it has done",
        lambda lane, _: _up(lane, "error", "--action", "*RolePolicy", "--count", "2", "--after"),
    ),
    _made(
        "IAM makes the policy and answers with a 500",
        lambda lane, _: _up(lane, "error", "--action", "CreatePolicy", "--count", "2", "--after"),
    ),
    _made(
        "CreateVolume takes effect, the connection breaks",
        lambda lane, _: _up(lane, "drop", "--action", "CreateVolume", "--count", "3", "--after"),
        weight=2,
    ),
    _made("CreateVolume takes effect and is never answered", _never_answered, weight=2, seconds=90),
    _made("a new volume is not described yet", _hidden_volume),
    _made("AWS is slow", lambda lane, _: _up(lane, "delay", "--seconds", "1", "--probability", "0.5")),
    _made("AWS is unreachable in the middle of an up", lambda lane, draw: _unreachable(lane, draw, "up", lane.up)),
    _gone("AWS is unreachable in the middle of a destroy", _unreachable_destroy),
    _gone("AWS throttles some calls of a destroy", lambda lane, _: _destroy(lane, "throttle", "--probability", "0.3")),
    _gone(
        "DeleteVolume takes effect, the connection breaks",
        lambda lane, _: _destroy(lane, "drop", "--action", "DeleteVolume", "--count", "3", "--after"),
    ),
    _gone("a detachment is stuck", _stuck_detach),
    Fault(
        "a detachment takes long",
        "aws",
        lambda lane, draw: _move(lane, "detach", "--seconds", f"{draw.uniform(5, 15):.0f}"),
        seconds=40,
    ),
    Fault(
        "AttachVolume and DetachVolume are throttled",
        "aws",
        lambda lane, _: _move(lane, "throttle", "--action", "*tachVolume", "--count", "6"),
        seconds=40,
    ),
    Fault(
        "AttachVolume takes effect, the connection breaks",
        "aws",
        lambda lane, _: _move(lane, "drop", "--action", "AttachVolume", "--count", "3", "--after"),
        seconds=40,
    ),
)
