"""The command `metrics`."""

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path

from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.frame import Command, reads_only


def run(known: Namespace) -> None:
    """Prints the metrics, writes them to a file, or serves them. Raises OperateError."""
    # Here, since each command's start is waited for.
    from prometheus_client import generate_latest, write_to_textfile

    from nomad_stateful.operate.metrics import server

    if known.listen:
        host, port = known.listen
        try:
            server.serve(host, port)
        except OSError as error:
            raise OperateError(
                f"--listen {host}:{port}: {error.strerror or error}. Name an address of this host, and a free port"
            ) from error
        return
    found = server.registry(server.Collector())
    if known.output is None:
        sys.stdout.write(generate_latest(found).decode())
        return
    try:
        write_to_textfile(str(known.output), found)
    except OSError as error:
        raise OperateError(
            f"--output {known.output}: {error.strerror or error}. Name a file in a folder that is there"
        ) from error


def address(given: str) -> tuple[str, int]:
    """Returns host and port. Raises ArgumentTypeError."""
    host, _, port = given.rpartition(":")
    if not port.isdigit() or int(port) > 65535:
        raise ArgumentTypeError(f"{given} must be ADDRESS:PORT, such as 127.0.0.1:9911; without ADDRESS every address")
    return host.strip("[]") or "0.0.0.0", int(port)  # noqa: S104 - asked for by leaving it out


def _arguments(parser: ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--listen", type=address, metavar="ADDRESS:PORT", help="serve /metrics and /targets there")
    where.add_argument(
        "--output",
        type=Path,
        metavar="FILE.prom",
        help="write them at once to a file of node_exporter's textfile folder",
    )


COMMAND = Command(
    "metrics",
    "print what no exporter has as metrics: plugins, claims, snapshots, dumps",
    run,
    _arguments,
    reads_only,
)
