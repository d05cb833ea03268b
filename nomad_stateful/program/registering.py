"""Registers a large program's resources at less cost: without the SDK's stack traces, and awaited one by one."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pulumi
from pulumi.runtime import register_stack_transformation


@contextmanager
def without_stack_traces() -> Iterator[None]:
    """Leaves out the Python stack that the SDK sends with each registration: two fifths of a state's bytes.

    A single frame, the SDK's own, counts as none: https://docs.python.org/3/library/sys.html#sys.tracebacklimit.
    An error that leaves the block has its whole traceback.
    """
    earlier = getattr(sys, "tracebacklimit", None)
    sys.tracebacklimit = 1
    try:
        yield
    finally:
        if earlier is None:
            del sys.tracebacklimit
        else:
            sys.tracebacklimit = earlier


def await_resources() -> None:
    """Has the program last until each of its resources is registered.

    The SDK ends a program by looking through all outputs that are outstanding each time that one of them is known: with
    a hundred volumes most of its time. Awaited before that, few are left.
    """
    resources: list[pulumi.Resource] = []
    register_stack_transformation(lambda args: resources.append(args.resource))

    async def registered() -> None:
        while resources:
            urns = [resource.urn.future() for resource in resources]
            resources.clear()
            # What fails, the SDK reports once this has ended.
            await asyncio.gather(*urns, return_exceptions=True)

    pulumi.run(registered)
