"""What every plugin promises when what it works on fails it, or the user gives up."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from nomad_stateful.plugin_server.plugin import Props
from tests.providers.conformance.life import checked
from tests.providers.conformance.subjects import TypeSubject
from tests.providers.conformance.tables import FUNCTIONS, TYPES
from tests.providers.conformance.worlds import World, silence, unreachable
from tests.providers.harness import Failed, PluginProcess

NOBODY = "http://127.0.0.1:9"
IDENTITY = "a-role:an-id,as-long-as-an-arn@default"
BUCKET = "a-bucket-by-its-name"
CANCELLED_WITHIN_S = 15.0
"""What is under way has 5 seconds to end; the rest is for a busy machine."""

NONSENSE: tuple[Any, ...] = ({"a": [1, {"b": None}]}, [[]], -1.5, True, "\x00")
Operation = Callable[[PluginProcess], Any]
Prepared = list[tuple[TypeSubject, Props]]


def prepared(worlds: Callable[[str], World], plugin_name: str) -> Prepared:
    """Each type of the plugin with checked inputs."""
    found = []
    for subject in TYPES:
        if subject.world == plugin_name:
            place = worlds(plugin_name)
            found.append((subject, checked(place, subject, subject.inputs(place))))
    return found


def operations(subjects: Prepared) -> list[Operation]:
    """Everything that asks the service: reads, creations, deletions and invokes."""
    asking: list[Operation] = []
    for subject, inputs in subjects:
        if subject.vanish is None:
            continue
        state = inputs | {"id": BUCKET if subject.token.startswith("aws:s3/") else IDENTITY}
        # A CSI volume is given up a minute before its time, so this is the shortest that is tried at all.
        limit_s = 61 if "csiVolume" in subject.token else 2
        if subject.refresh_asks:
            asking.append(functools.partial(_read, subject.token, inputs, state))
        asking.append(functools.partial(_create, subject.token, inputs, limit_s))
        if subject.plugin != "nomad-csi":
            asking.append(functools.partial(_delete, subject.token, state, limit_s))
    return asking


def _read(token: str, inputs: Props, state: Props, plugin: PluginProcess) -> Any:
    return plugin.read(token, state["id"], inputs, state)


def _create(token: str, inputs: Props, limit_s: float, plugin: PluginProcess) -> Any:
    return plugin.create(token, inputs, timeout_s=limit_s)


def _delete(token: str, state: Props, limit_s: float, plugin: PluginProcess) -> None:
    plugin.delete(token, state["id"], state, timeout_s=limit_s)


def _invoke(token: str, args: Props, plugin: PluginProcess) -> Any:
    return plugin.invoke(token, args)


def test_an_unreachable_service_is_told_without_a_traceback(
    worlds: Callable[[str], World], programs: Callable[[str], Path], plugin_name: str
) -> None:
    subjects = prepared(worlds, plugin_name)
    asking = operations(subjects) + [
        functools.partial(_invoke, function.token, function.args(worlds(plugin_name)))
        for function in FUNCTIONS
        if function.world == plugin_name
    ]
    with unreachable(plugin_name, programs(plugin_name), NOBODY) as plugin, ThreadPoolExecutor(len(asking)) as pool:
        for text in pool.map(lambda operation: outcome(operation, plugin), asking):
            assert "127.0.0.1:9" in text
            assert "Traceback" not in text
            assert 'File "' not in text


def test_what_is_malformed_is_refused_without_a_traceback(worlds: Callable[[str], World], plugin_name: str) -> None:
    for subject in TYPES:
        if subject.world != plugin_name:
            continue
        place = worlds(plugin_name)
        given = subject.inputs(place)
        for name in given:
            for nonsense in NONSENSE:
                try:
                    said = place.plugin.check(subject.token, given | {name: nonsense}).reasons
                except Failed as failed:
                    said = failed.message
                assert "Traceback" not in said
                assert "--debug shows where" not in said, f"{subject.token} {name} = {nonsense!r}: {said}"


def test_many_waits_at_once_leave_the_plugin_answering_and_a_cancel_ends_them_all(
    worlds: Callable[[str], World], programs: Callable[[str], Path], plugin_name: str
) -> None:
    asking = operations(prepared(worlds, plugin_name))
    asking *= 60 // len(asking) + 1
    # The pool is the last to go: a plugin that does not end its calls ends them by being ended.
    with (
        ThreadPoolExecutor(len(asking)) as pool,
        silence() as service,
        unreachable(plugin_name, programs(plugin_name), service.url) as plugin,
    ):
        waiting = [pool.submit(outcome, operation, plugin) for operation in asking]
        service.wait_for(min(40, len(asking)))
        assert plugin.check_config({}) is not None
        assert not all(one.done() for one in waiting)
        plugin.cancel()
        cancelled = time.monotonic()
        outcomes = [said(one, cancelled) for one in waiting]
    assert not [text for text in outcomes if "Traceback" in text]
    assert any("cancelled" in text for text in outcomes)


def outcome(operation: Operation, plugin: PluginProcess) -> str:
    """What an operation came to."""
    try:
        return str(operation(plugin))
    except Failed as failed:
        return failed.message


def said(future: Future[str], cancelled: float) -> str:
    """The outcome, which has to be there soon after the cancel."""
    return future.result(timeout=max(0.1, cancelled + CANCELLED_WITHIN_S - time.monotonic()))
