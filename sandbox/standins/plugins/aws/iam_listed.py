"""IAM is eventually consistent: what was made or changed is waited for until IAM lists it."""

from __future__ import annotations

from collections.abc import Callable

from nomad_stateful.plugin_server.plugin import Props
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.aws.errors import aws_errors
from sandbox.standins.plugins.aws.iam_values import NOT_FOUND_TIMEOUT_S
from sandbox.standins.plugins.aws.waits import NotYet, Wait, wait_until


def await_listed(ctx: Context, kind: str, id: str, find: Callable[[], Props | None]) -> Props:
    """Returns what `find` does once it is not None; `kind` as the provider writes it: "Role Policy"."""

    def probe() -> Props:
        outputs = find()
        if outputs is None:
            raise NotYet("IAM does not list it yet")
        return outputs

    with aws_errors(f"reading IAM {kind} ({id})"):
        return wait_until(ctx, Wait(f"IAM {kind.lower()} {id}", "IAM lists it", NOT_FOUND_TIMEOUT_S), probe)
