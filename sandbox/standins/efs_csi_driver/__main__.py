"""`python -m sandbox.standins.efs_csi_driver [flags]`: aws-efs-csi-driver's command line."""

from __future__ import annotations

import sys

from sandbox.standins.csi import logs, program
from sandbox.standins.efs_csi_driver.options import DRIVER_NAME, DRIVER_VERSION, FLAGS, Options, parse


def main(arguments: list[str]) -> int:
    """Runs the driver; the exit status."""
    options = program.read(FLAGS, arguments, parse)
    if isinstance(options, int):
        return options
    program.prepare(options.verbosity)
    return _serve(options)


def _serve(options: Options) -> int:
    from sandbox.standins.efs_csi_driver.wiring import services

    logs.info("Driver Information", Driver=DRIVER_NAME, Version=DRIVER_VERSION)
    return program.serve(options.endpoint, services(options))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
