"""What every driver's process does: read flags, log, listen, and serve until it is told to stop."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from threading import Event
from typing import Final, TypeVar

from sandbox.standins.csi import logs
from sandbox.standins.csi.flags import FlagError, FlagSet, HelpAsked

EXIT_USAGE: Final = 2
STOP_GRACE_S: Final = 5.0

T = TypeVar("T")


def read(flag_set: FlagSet, arguments: Sequence[str], parse: Callable[[Sequence[str]], T]) -> T | int:
    """Returns what `parse` makes of the arguments, or the exit status where there is nothing to run."""
    try:
        return parse(arguments)
    except HelpAsked:
        print(flag_set.usage(), file=sys.stderr)
        return 0
    except FlagError as error:
        print(f"{error}\n{flag_set.usage()}\n{error}", file=sys.stderr)
        return EXIT_USAGE


def prepare(verbosity: int) -> None:
    """Sets up the log, and gRPC's environment; to be called before anything loads gRPC."""
    logs.set_up(verbosity=verbosity)
    # Programs are started from threads; gRPC's own fork handlers would stall them.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")


def serve(endpoint: str, services: Mapping[str, object], stop: Event | None = None) -> int:
    """Serves until SIGTERM or SIGINT, or until `stop` is set; the exit status."""
    from sandbox.standins.csi import server
    from sandbox.standins.csi.endpoint import EndpointError, parse_endpoint

    stopped = stop or Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    try:
        running = server.start(parse_endpoint(endpoint), services)
    except (EndpointError, server.ListenError) as error:
        logs.error("Failed to run driver", err=error)
        return 1
    logs.info("Listening for connections", address=endpoint)
    stopped.wait()
    logs.info("Stopping server")
    running.stop(STOP_GRACE_S).wait()
    return 0
