"""`python -m sandbox.standins.hostpath [flags]`: hostpathplugin's command line."""

from __future__ import annotations

import sys

from sandbox.standins.csi import logs, program
from sandbox.standins.hostpath.options import FLAGS, VERSION, Options, parse


def main(arguments: list[str]) -> int:
    """Runs the driver; the exit status."""
    options = program.read(FLAGS, arguments, parse)
    if isinstance(options, int):
        return options
    program.prepare(options.verbosity)
    return _serve(options)


def _serve(options: Options) -> int:
    from sandbox.standins.hostpath.wiring import services

    logs.info("Driver Information", Driver=options.driver_name, Version=VERSION, NodeID=options.node_id)
    try:
        made = services(options)
    except OSError as error:
        logs.error("Failed to run driver", statedir=options.state_dir, err=error)
        return 1
    return program.serve(options.endpoint, made)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
