"""Drives a provider plugin by the path of its executable, in the place of the engine and as the engine does."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import grpc
from google.protobuf.empty_pb2 import Empty

from nomad_stateful.plugin_server.stubs import engine_pb2, engine_pb2_grpc, provider_pb2, provider_pb2_grpc, status_pb2
from nomad_stateful.plugin_server.values import Props, marshal, unmarshal

STARTUP_TIMEOUT_S = 20.0
DEATH_S = 2.0
"""How long a plugin that hung up in the middle of a call may take to end."""
TAIL_BYTES = 3000
EXERCISED: set[str] = set()
"""Tokens of the types and functions that plugins were asked about; the run's summary takes them test by test."""


class Failed(Exception):
    """An operation's error as the engine would show it; `partial` is what it would keep in the state."""

    def __init__(self, message: str, partial: Partial | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.partial = partial


class PluginDied(Exception):
    """The plugin ended in the middle of a call, with what it wrote last."""


@dataclass(frozen=True)
class Partial:
    """A resource that was made but is not as asked."""

    id: str
    outputs: Props
    inputs: Props
    reasons: list[str]


@dataclass(frozen=True)
class Properties:
    """Properties as received, and which top-level names were secret."""

    props: Props
    secrets: set[str]

    def __getitem__(self, key: str) -> Any:
        return self.props[key]


@dataclass(frozen=True)
class CheckResult:
    inputs: Properties
    failures: list[tuple[str, str]]  # property, reason

    @property
    def reasons(self) -> str:
        return "\n".join(reason for _, reason in self.failures)


@dataclass(frozen=True)
class DiffResult:
    changed: bool
    replaces: list[str]
    detailed: dict[str, str]  # path -> kind, as "UPDATE_REPLACE"
    delete_before_replace: bool
    stables: list[str]


@dataclass(frozen=True)
class Resource:
    id: str
    outputs: Properties
    inputs: Properties = field(default_factory=lambda: Properties({}, set()))
    """What a refresh or an import found, and nothing else has."""

    def __getitem__(self, key: str) -> Any:
        return self.outputs.props[key]


@dataclass
class FakeEngine(engine_pb2_grpc.EngineServicer):
    """The part of the engine a plugin talks back to; keeps what was logged as (severity, message)."""

    messages: list[tuple[str, str]] = field(default_factory=list)
    logged: threading.Condition = field(default_factory=threading.Condition)

    def Log(self, request: Any, context: Any) -> Any:  # noqa: N802 - the protocol's name
        with self.logged:
            self.messages.append((engine_pb2.LogSeverity.Name(request.severity).lower(), request.message))
            self.logged.notify_all()
        return Empty()

    def wait_for(self, text: str, timeout_s: float = 10) -> str:
        """The first message that holds the text."""
        with self.logged:
            assert self.logged.wait_for(lambda: any(text in m for _, m in self.messages), timeout_s), (
                f"no message with {text!r} in {self.messages}"
            )
            return next(m for _, m in self.messages if text in m)


class PluginProcess:
    """A running plugin; its methods are the engine's calls with plain values."""

    def __init__(
        self, process: subprocess.Popen[str], channel: grpc.Channel, engine: FakeEngine, errors: IO[bytes]
    ) -> None:
        self.process = process
        self.engine = engine
        self.stub: Any = provider_pb2_grpc.ResourceProviderStub(channel)
        self._errors = errors
        self._takes_secrets = True

    @property
    def is_dead(self) -> bool:
        """Whether the process has ended."""
        return self.process.poll() is not None

    def last_words(self) -> str:
        """Returns the end of what the plugin wrote to its standard error."""
        return _tail(self._errors)

    def configure(self, config: Mapping[str, str] | None = None) -> None:
        """CheckConfig and Configure with values in wire form: strings, anything else as JSON."""
        checked = self.check_config(config or {})
        if checked.failures:
            raise Failed(checked.reasons)
        request = provider_pb2.ConfigureRequest(
            args=marshal(checked.inputs.props, checked.inputs.secrets), acceptSecrets=True, sends_old_inputs=True
        )
        self._takes_secrets = self._call(self.stub.Configure, request).acceptSecrets

    def check_config(self, config: Mapping[str, str]) -> CheckResult:
        urn = "urn:pulumi:test::test::pulumi:providers:test::default"
        request = provider_pb2.CheckRequest(urn=urn, news=marshal(dict(config)))
        return _check_result(self._call(self.stub.CheckConfig, request))

    def check(
        self,
        token: str,
        news: Props,
        olds: Props | None = None,
        name: str = "it",
        secrets: set[str] | None = None,
        seed: int = 7,
    ) -> CheckResult:
        request = provider_pb2.CheckRequest(
            urn=urn(token, name),
            olds=marshal(olds or {}),
            news=marshal(news, self._sent(secrets)),
            randomSeed=bytes([seed]) * 32,
        )
        result = _check_result(self._call(self.stub.Check, request))
        return CheckResult(self._kept(result.inputs, secrets), result.failures)

    def diff(self, token: str, id: str, state: Props, old_inputs: Props, news: Props, name: str = "it") -> DiffResult:
        response = self._call(
            self.stub.Diff,
            provider_pb2.DiffRequest(
                id=id,
                urn=urn(token, name),
                olds=marshal(state),
                old_inputs=marshal(old_inputs),
                news=marshal(news),
            ),
        )
        kinds = {p: provider_pb2.PropertyDiff.Kind.Name(d.kind) for p, d in response.detailedDiff.items()}
        return DiffResult(
            response.changes == provider_pb2.DiffResponse.DIFF_SOME,
            list(response.replaces),
            kinds,
            response.deleteBeforeReplace,
            list(response.stables),
        )

    def create(
        self,
        token: str,
        inputs: Props,
        name: str = "it",
        preview: bool = False,
        timeout_s: float = 0,
        secrets: set[str] | None = None,
    ) -> Resource:
        request = provider_pb2.CreateRequest(
            urn=urn(token, name), properties=marshal(inputs, self._sent(secrets)), timeout=timeout_s, preview=preview
        )
        response = self._call(self.stub.Create, request)
        return Resource(response.id, self._kept(Properties(*unmarshal(response.properties)), secrets))

    def update(
        self,
        token: str,
        id: str,
        state: Props,
        old_inputs: Props,
        news: Props,
        name: str = "it",
        preview: bool = False,
        timeout_s: float = 0,
        secrets: set[str] | None = None,
    ) -> Resource:
        request = provider_pb2.UpdateRequest(
            id=id,
            urn=urn(token, name),
            olds=marshal(state),
            old_inputs=marshal(old_inputs),
            news=marshal(news, self._sent(secrets)),
            timeout=timeout_s,
            preview=preview,
        )
        response = self._call(self.stub.Update, request)
        return Resource(id, self._kept(Properties(*unmarshal(response.properties)), secrets))

    def read(
        self, token: str, id: str, inputs: Props | None = None, state: Props | None = None, name: str = "it"
    ) -> Resource | None:
        """The resource as it is, None when gone; without inputs and state, an import."""
        request = provider_pb2.ReadRequest(
            id=id, urn=urn(token, name), inputs=marshal(inputs or {}), properties=marshal(state or {})
        )
        response = self._call(self.stub.Read, request)
        if not response.id:
            return None
        outputs, found = Properties(*unmarshal(response.properties)), Properties(*unmarshal(response.inputs))
        return Resource(response.id, outputs, found)

    def found(self, token: str, id: str, inputs: Props | None = None, state: Props | None = None) -> Resource:
        """The resource as it is, which is not gone."""
        read = self.read(token, id, inputs, state)
        assert read is not None
        return read

    def delete(self, token: str, id: str, state: Props, name: str = "it", timeout_s: float = 0) -> None:
        request = provider_pb2.DeleteRequest(id=id, urn=urn(token, name), properties=marshal(state), timeout=timeout_s)
        self._call(self.stub.Delete, request)

    def invoke(self, token: str, args: Props | None = None) -> Props:
        response = self._call(self.stub.Invoke, provider_pb2.InvokeRequest(tok=token, args=marshal(args or {})))
        if response.failures:
            raise Failed("\n".join(f"{f.reason} ({f.property})" for f in response.failures))
        return unmarshal(getattr(response, "return"))[0]

    def cancel(self) -> None:
        self._call(self.stub.Cancel, Empty())

    def _sent(self, secrets: set[str] | None) -> set[str]:
        """As the engine, says what is secret only to a plugin that understands it."""
        return (secrets or set()) if self._takes_secrets else set()

    def _kept(self, answered: Properties, secrets: set[str] | None) -> Properties:
        """As the engine, keeps secret for such a plugin what comes back under the same name."""
        kept = set() if self._takes_secrets else (secrets or set()) & set(answered.props)
        return Properties(answered.props, answered.secrets | kept)

    def _call(self, method: Any, request: Any) -> Any:
        EXERCISED.update(_tokens(request))
        try:
            return method(request)
        except grpc.RpcError as error:
            call: Any = error
            if call.code() == grpc.StatusCode.UNAVAILABLE:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.wait(DEATH_S)
                    raise PluginDied(f"exit code {self.process.returncode}: {self.last_words()}") from None
            raise Failed(call.details(), _partial(call)) from None


def in_background(action: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    """Does it in a thread; gives that, and a list that has then what came of it: a result, or how it failed."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append(action())
        except Failed as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, outcome


def urn(token: str, name: str = "it") -> str:
    """A resource's URN in the stack test of the project test."""
    return f"urn:pulumi:test::test::{token}::{name}"


def _tokens(request: Any) -> set[str]:
    if token := getattr(request, "tok", ""):
        return {token}
    token = getattr(request, "urn", "").split("::")[2:3]
    return {one for one in token if not one.startswith("pulumi:providers:")}


def _check_result(response: Any) -> CheckResult:
    failures = [(failure.property, failure.reason) for failure in response.failures]
    return CheckResult(Properties(*unmarshal(response.inputs)), failures)


def _partial(call: Any) -> Partial | None:
    for key, value in call.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            for packed in status_pb2.Status.FromString(value).details:
                failed = provider_pb2.ErrorResourceInitFailed()
                if packed.Unpack(failed):
                    outputs, inputs = unmarshal(failed.properties)[0], unmarshal(failed.inputs)[0]
                    return Partial(failed.id, outputs, inputs, list(failed.reasons))
    return None


@contextlib.contextmanager
def _fake_engine() -> Iterator[tuple[FakeEngine, str]]:
    engine = FakeEngine()
    server = grpc.server(ThreadPoolExecutor(4))
    engine_pb2_grpc.add_EngineServicer_to_server(engine, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield engine, f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()


@contextlib.contextmanager
def plugin_process(executable: Path, env: Mapping[str, str] | None = None) -> Iterator[PluginProcess]:
    """Starts a plugin with exactly this environment besides PATH, HOME and the test's own Python, and ends it."""
    base = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
    base["NOMAD_STATEFUL_PYTHON"] = sys.executable
    # A file, which takes any amount: a pipe that nobody reads would stop a plugin that writes much.
    with _fake_engine() as (engine, address), tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [str(executable), address],
            cwd=os.sep,  # not the project's folder, whose packages another plugin would find before its own
            env=base | dict(env or {}),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        try:
            yield from _connected(process, engine, errors)
        finally:
            process.terminate()
            try:
                process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()


def _connected(process: subprocess.Popen[str], engine: FakeEngine, errors: IO[bytes]) -> Iterator[PluginProcess]:
    assert process.stdout is not None
    watchdog = threading.Timer(STARTUP_TIMEOUT_S, process.kill)
    watchdog.start()
    line = process.stdout.readline()
    watchdog.cancel()
    watchdog.join()
    if not line.strip().isdigit():
        process.communicate()
        raise AssertionError(f"the plugin printed {line!r} instead of its port: {_tail(errors)}")
    with grpc.insecure_channel(f"127.0.0.1:{line.strip()}") as channel:
        yield PluginProcess(process, channel, engine, errors)


def _tail(errors: IO[bytes]) -> str:
    # Not by seek(), which would move the place at which the plugin writes.
    size = os.fstat(errors.fileno()).st_size
    return os.pread(errors.fileno(), TAIL_BYTES, max(0, size - TAIL_BYTES)).decode(errors="replace")
