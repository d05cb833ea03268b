"""`python -m sandbox.standins.ebs_csi_driver controller|node|all [flags]`: aws-ebs-csi-driver's command line."""

from __future__ import annotations

import os
import sys

from sandbox.standins.csi import logs
from sandbox.standins.csi.endpoint import EndpointError
from sandbox.standins.csi.flags import FlagError, HelpAsked
from sandbox.standins.ebs_csi_driver.options import Mode, Options, flag_set, parse_options, split_mode
from sandbox.standins.ebs_csi_driver.version import version_json

EXIT_USAGE = 2


def _options(arguments: list[str]) -> Options | int:
    """The options, or the exit status where there is nothing to run."""
    mode = Mode.ALL
    try:
        mode, rest = split_mode(arguments)
        return parse_options(mode, rest)
    except HelpAsked:
        print(flag_set(mode).usage(), file=sys.stderr)
        return 0
    except FlagError as error:
        print(f"{error}\n{flag_set(mode).usage()}\n{error}", file=sys.stderr)
        return EXIT_USAGE


def main(arguments: list[str]) -> int:
    """Runs the driver; the exit status."""
    options = _options(arguments)
    if isinstance(options, int):
        return options
    if options.show_version:
        print(version_json())
        return 0
    logs.set_up(verbosity=options.verbosity, as_json=options.logging_format == "json")
    # Programs are started from threads; gRPC's own fork handlers would stall them.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    from sandbox.standins.csi.server import ListenError
    from sandbox.standins.ebs_csi_driver.driver import Driver

    try:
        return Driver(options).run()
    except (EndpointError, ListenError, OSError, ValueError) as error:
        logs.error("Failed to run driver", err=error)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
