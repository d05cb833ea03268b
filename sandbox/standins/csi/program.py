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
    """What `parse` makes of the arguments, or the exit status where there is nothing to run."""
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
    logs.set_up(verbosity=verbosity, as_json=False)
    # Programs are started from threads; gRPC's own fork handlers would stall them.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")


def serve(endpoints: Sequence[str], services: Mapping[str, object]) -> int:
    """Serves on every endpoint until SIGTERM or SIGINT; the exit status."""
    from sandbox.standins.csi import server
    from sandbox.standins.csi.endpoint import EndpointError, parse_endpoint

    stop = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        running = [server.start(parse_endpoint(text), services) for text in endpoints]
    except (EndpointError, server.ListenError) as error:
        logs.error("Failed to run driver", err=error)
        return 1
    for text in endpoints:
        logs.info("Listening for connections", address=text)
    stop.wait()
    logs.info("Stopping server")
    for ending in [one.stop(STOP_GRACE_S) for one in running]:
        ending.wait()
    return 0
