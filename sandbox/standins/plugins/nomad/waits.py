"""Waiting on Nomad: retries with a budget, evaluations and deployments, each saying what it waits for."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad.api import NomadApi, NomadApiError, NomadError, is_transient
from nomad_stateful.waiting import Context

T = TypeVar("T")

_PAUSES_S = (0.5, 1.0, 2.0, 4.0, 8.0, 10.0)
_SAY_EVERY_S = 5.0
_POLL_S = 5.0
_EVENTS_SHOWN = 5
_ALLOCATIONS_SHOWN = 3


class Progress:
    """Tells the user, on each change and every few seconds, what is waited for, since when and until when at most."""

    def __init__(self, ctx: Context, what: str, budget_s: float) -> None:
        self._ctx = ctx
        self._what = what
        self._budget_s = budget_s
        self._start = time.monotonic()
        self._said = ""
        self._said_at = 0.0

    @property
    def remaining_s(self) -> float:
        return self._start + self._budget_s - time.monotonic()

    @property
    def waited_s(self) -> float:
        return time.monotonic() - self._start

    def say(self, state: str) -> None:
        """Shows the state that the wait is in."""
        now = time.monotonic()
        if state == self._said and now - self._said_at < _SAY_EVERY_S:
            return
        self._said, self._said_at = state, now
        elapsed = f"{self.waited_s:.0f} s of at most {self._budget_s:.0f} s"
        self._ctx.log("info", f"waiting for {self._what} ({elapsed}): {state}", ephemeral=True)


def retry(
    ctx: Context, attempt: Callable[[], T], progress: Progress, final: Callable[[str], bool], explain: Callable[[], str]
) -> T:
    """The attempt's result: tried at once, then with growing pauses until the budget is spent or an error is final.

    The last error is raised, with what `explain` adds to it.
    """
    pauses = iter(_pauses())
    while True:
        try:
            return ctx.call(attempt)
        except ProviderError as error:
            ctx.wait(0)
            pause = next(pauses)
            if final(str(error)):
                raise
            if progress.remaining_s <= pause:
                raise ProviderError(f"{error} (gave up after {progress.waited_s:.0f} s){explain()}") from None
            progress.say(str(error) + explain())
            ctx.wait(pause)


def _pauses() -> Iterator[float]:
    yield from _PAUSES_S
    while True:
        yield _PAUSES_S[-1]


def wait_for_evaluation(ctx: Context, api: NomadApi, eval_id: str, namespace: str, budget_s: float) -> dict[str, Any]:
    """The last evaluation of the chain, once it is complete; raises ProviderError when it fails or takes too long."""
    progress = Progress(ctx, f"evaluation {eval_id[:8]}, which places the job's allocations", budget_s)
    index = 0
    while True:
        evaluation, index = _look(ctx, api, f"evaluation/{eval_id}", index, namespace, progress)
        status = "gone" if evaluation is None else evaluation.get("Status", "unknown")
        if evaluation and status == "complete":
            if not evaluation.get("NextEval"):
                return evaluation
            eval_id, index = evaluation["NextEval"], 0
            continue
        if evaluation is None or status in ("failed", "cancelled", "canceled"):
            description = (evaluation or {}).get("StatusDescription") or status
            raise ProviderError(f"error waiting for evaluation: evaluation failed: {description}")
        if progress.remaining_s <= 0:
            raise ProviderError(_timeout("evaluation", eval_id, status, budget_s))
        progress.say(f"it is {status}; ends when it is complete")


def wait_for_deployment(ctx: Context, api: NomadApi, deployment_id: str, namespace: str, budget_s: float) -> Any:
    """The deployment once it is successful; raises ProviderError with the allocations' last events when it is not."""
    progress = Progress(ctx, f"deployment {deployment_id[:8]} to be healthy", budget_s)
    index = 0
    while True:
        deployment, index = _look(ctx, api, f"deployment/{deployment_id}", index, namespace, progress)
        status = "gone" if deployment is None else deployment.get("Status", "unknown")
        if status == "successful":
            return deployment
        description = (deployment or {}).get("StatusDescription", "")
        if deployment is None or status in ("failed", "cancelled"):
            events = unhealthy_allocations(api, deployment_id, namespace)
            text = f"deployment '{deployment_id}' terminated with status '{status}': '{description}'"
            raise ProviderError(f"error waiting for deployment: {text}{events}")
        if progress.remaining_s <= 0:
            events = unhealthy_allocations(api, deployment_id, namespace)
            raise ProviderError(_timeout("deployment", deployment_id, status, budget_s) + events)
        progress.say(f"{_health(deployment)}; ends when all are healthy or Nomad gives the deployment up")


def unhealthy_allocations(api: NomadApi, deployment_id: str, namespace: str) -> str:
    """The last task events of a deployment's allocations that are not healthy, as lines to add to an error."""
    try:
        found = api.get(f"deployment/allocations/{deployment_id}", namespace=namespace)
    except ProviderError:
        return ""
    bad = [item for item in found or [] if (item.get("DeploymentStatus") or {}).get("Healthy") is not True]
    lines = [line for item in bad[:_ALLOCATIONS_SHOWN] for line in _allocation_lines(item)]
    if len(bad) > _ALLOCATIONS_SHOWN:
        lines.append(f"  … and {len(bad) - _ALLOCATIONS_SHOWN} more")
    if not bad:
        lines.append("  no allocation was placed: see `nomad job status` for the unplaced allocations")
    return "\n" + "\n".join(lines)


def _allocation_lines(allocation: dict[str, Any]) -> Iterator[str]:
    identity = f"allocation {allocation.get('ID', '')[:8]} on {allocation.get('NodeName') or 'no node'}"
    yield f"  {identity} is {allocation.get('ClientStatus', 'unknown')}"
    for task, state in sorted((allocation.get("TaskStates") or {}).items()):
        for event in ((state or {}).get("Events") or [])[-_EVENTS_SHOWN:]:
            yield f"    {task}: {event.get('Type', '')}: {event.get('DisplayMessage', '')}"


def _health(deployment: dict[str, Any]) -> str:
    groups = sorted((deployment.get("TaskGroups") or {}).items())
    parts = [f"{name} {g.get('HealthyAllocs', 0)} of {g.get('DesiredTotal', 0)} healthy" for name, g in groups]
    return ", ".join(parts) or str(deployment.get("Status", "not known while Nomad does not answer"))


def _look(  # noqa: PLR0917
    ctx: Context, api: NomadApi, path: str, index: int, namespace: str, progress: Progress
) -> tuple[dict[str, Any] | None, int]:
    """The object once it changed from `index`, or after some seconds; a server that is away is asked again."""
    try:
        return ctx.call(lambda: api.get_indexed(path, index=index, wait_s=_POLL_S, namespace=namespace))
    except NomadError as error:
        refused = isinstance(error, NomadApiError) and error.status < 500 and not is_transient(error)
        if progress.remaining_s <= 0 or refused:
            raise
        progress.say(str(error))
        ctx.wait(random.uniform(0.5, 1.5))  # noqa: S311 - so that many waits do not ask as one
        return {}, index


def _timeout(kind: str, identity: str, status: str, budget_s: float) -> str:
    command = f"nomad {'eval' if kind == 'evaluation' else kind} status {identity[:8]}"
    return (
        f"error waiting for {kind}: {kind} {identity} was still {status} after {budget_s:.0f} s: "
        f"look at `{command}`, or give it longer with custom_timeouts"
    )
