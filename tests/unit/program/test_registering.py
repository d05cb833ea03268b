"""How the program registers its resources: without stack traces, and awaited."""

import asyncio
import sys
import traceback
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pulumi
import pytest
from pulumi.runtime import mocks

from nomad_stateful.program import registering


def _frames_sent(register: Callable[[], object]) -> list[int]:
    """Returns how many frames the SDK sends with each resource that is registered."""
    found: list[int] = []
    answer = mocks.MockMonitor.RegisterResource

    def counted(self: mocks.MockMonitor, request: Any) -> Any:
        found.append(len(request.stackTrace.frames))
        return answer(self, request)  # type: ignore[no-untyped-call]

    class Silent(mocks.Mocks):
        def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
            return f"{args.name}-id", args.inputs

        def call(self, args: mocks.MockCallArgs) -> tuple[dict[Any, Any], list[tuple[str, str]] | None]:
            return {}, []

    with patch.object(mocks.MockMonitor, "RegisterResource", counted):
        mocks.set_mocks(Silent(), project="nomad-stateful", stack="test")

        @pulumi.runtime.test  # type: ignore[untyped-decorator]
        def run() -> None:
            register()

        run()
    return found


class _Thing(pulumi.ComponentResource):
    def __init__(self, name: str) -> None:
        super().__init__("test:index:Thing", name)


def test_no_stack_trace_is_sent_with_a_resource() -> None:
    def quietly() -> None:
        with registering.without_stack_traces():
            _Thing("quiet")

    assert _frames_sent(lambda: _Thing("traced"))[-1] > 0
    assert _frames_sent(quietly)[-1] == 0


def test_an_error_in_the_program_has_its_whole_traceback() -> None:
    def mistaken() -> None:
        raise ValueError("a mistake")

    with pytest.raises(ValueError, match="a mistake") as caught, registering.without_stack_traces():
        mistaken()
    assert "in mistaken" in "".join(traceback.format_exception(caught.value))
    assert not hasattr(sys, "tracebacklimit")


def test_the_program_lasts_until_each_resource_is_registered_or_has_failed(loop: asyncio.AbstractEventLoop) -> None:
    transformations: list[Callable[[Any], None]] = []
    programs: list[Callable[[], Awaitable[None]]] = []
    with (
        patch.object(registering, "register_stack_transformation", transformations.append),
        patch.object(pulumi, "run", programs.append),
    ):
        registering.await_resources()

    async def last() -> list[str]:
        seen: list[str] = []
        waiting = asyncio.get_running_loop().create_future()

        async def one(name: str, fails: bool = False) -> None:
            if name == "first":
                await waiting
                made("made in a callback of the first")
            seen.append(name)
            if fails:
                raise RuntimeError("refused")

        def made(name: str, fails: bool = False) -> None:
            urn = SimpleNamespace(future=lambda: one(name, fails))
            transformations[0](SimpleNamespace(resource=SimpleNamespace(urn=urn)))

        made("first")
        made("second", fails=True)
        program = asyncio.ensure_future(programs[0]())
        await asyncio.sleep(0)
        assert not program.done()
        waiting.set_result(None)
        await asyncio.wait_for(program, 5)
        return seen

    assert set(loop.run_until_complete(last())) == {"first", "second", "made in a callback of the first"}
