"""What AWS and Nomad answer the program, as far as a test has them do."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from nomad_stateful.program.prefetch import CallError

NODE: dict[str, Any] = {
    "id": "1",
    "name": "c1",
    "version": "2.0.5",
    "zone": "us-west-2a",
    "status": "ready",
    "eligibility": "eligible",
    "datacenter": "dc1",
    "nodePool": "default",
    "drivers": ["docker"],
    "cpuMhz": 4000,
    "memoryMib": 4000,
}
SERVER = {"name": "s1", "version": "2.0.5"}
PLACED = {"notChecked": "", "refused": "", "registeredToo": False, "failures": []}


def answered(value: dict[str, Any] | Exception) -> Future[dict[str, Any]]:
    """A call that has its answer, or its error."""
    call: Future[dict[str, Any]] = Future()
    if isinstance(value, Exception):
        call.set_exception(value)
    else:
        call.set_result(value)
    return call


def nobodys(args: Mapping[str, Any]) -> dict[str, Any]:
    """What getOwners answers about a Nomad that has nothing: none of the jobs and volumes exist."""
    nothing = {"exists": False, "stopped": False, "users": [], "claim": "", "stack": "", "ownerId": ""}
    asked = [(kind, one) for kind in ("job", "volume") for one in args[f"{kind}s"]]
    return {"found": [{"kind": kind, "id": one, **nothing} for kind, one in asked], "registrations": []}


class Unanswered:
    """Keeps what is asked, and answers nothing."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def call(self, function: str, args: Any) -> Future[dict[str, Any]]:
        self.calls.append((function, args))
        return Future()


class Answers:
    """AWS and Nomad, as preflight asks them: all is well, but for one question that is not answered."""

    def __init__(
        self, unanswered: str = "", servers: Sequence[Any] = (SERVER,), nodes: Sequence[Any] = (NODE,)
    ) -> None:
        self._unanswered = unanswered
        self.asked: set[str] = set()
        self.identity = self._answer(
            "identity", {"accountId": "123456789012", "arn": "arn:aws:iam::123456789012:user/x"}
        )
        self.zones = self._answer("zones", {"names": ["us-west-2a"], "region": "us-west-2"})
        self.plugins = self._answer("plugins", {})
        cluster = {"version": "", "servers": servers, "nodes": nodes, "zones": ["us-west-2a"]}
        self.cluster = self._answer("cluster", cluster)

    def _answer(self, question: str, value: dict[str, Any]) -> Future[dict[str, Any]]:
        refusal = CallError("RequestLimitExceeded: Request limit exceeded")
        return answered(refusal if question == self._unanswered else value)

    def call(self, function: str, args: dict[str, Any]) -> Future[dict[str, Any]]:
        self.asked.add(function)
        registered: dict[str, Any] = {"tasks": [], "failingRuns": []}
        known = {"availabilityZone": "us-west-2a", "bucketRegion": "us-west-2", "outputs": {}, "volumes": []}
        value = nobodys(args) if function.endswith("getOwners") else {**known, **PLACED, **registered}
        return self._answer(function, value)
