"""What the engine is told of a failure has nothing that a terminal would obey: Nomad and AWS had a part in it."""

from __future__ import annotations

from typing import Any

import pytest

from nomad_stateful.errors import ProviderError
from nomad_stateful.plugin_server.engine_log import EngineLog
from nomad_stateful.plugin_server.errors import RefusedError, clean_errors, init_failed
from nomad_stateful.plugin_server.plugin import InitFailed

HOSTILE = "task\x1b]52;c;aWQ=\x07 failed\nsecond line"
SHOWN = r"task\x1b]52;c;aWQ=\x07 failed" + "\nsecond line"


class Context:
    """A call that ends with a status."""

    def __init__(self) -> None:
        self.message = ""
        self.trailing = b""

    def set_trailing_metadata(self, metadata: Any) -> None:
        [(_, self.trailing)] = metadata

    def abort(self, _code: Any, message: str) -> None:
        self.message = message


@pytest.mark.parametrize("error", [ProviderError(HOSTILE), init_failed(InitFailed("1", {}, [HOSTILE], {}), ())])
def test_a_failures_message_is_text(error: Exception) -> None:
    @clean_errors
    def method(_self: Any, _request: Any, _context: Any) -> None:
        raise error

    context = Context()
    method(None, None, context)
    assert context.message == SHOWN
    assert b"\x1b" not in context.trailing
    assert isinstance(error, RefusedError) == (SHOWN.encode() in context.trailing)


def test_a_log_message_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    class Stub:
        def Log(self, request: Any, timeout: float) -> None:  # noqa: N802 - the service's word
            told.append(request.message)

    engine = EngineLog("127.0.0.1:1")
    monkeypatch.setattr(engine, "_stub", Stub())
    engine.log("warning", HOSTILE, "", False)
    assert told == [SHOWN]
