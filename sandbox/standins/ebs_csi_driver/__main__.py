"""`python -m sandbox.standins.ebs_csi_driver controller|node|all [flags]`: aws-ebs-csi-driver's command line."""

from __future__ import annotations

import sys

from sandbox.standins.csi import logs, program
from sandbox.standins.ebs_csi_driver.options import Mode, flag_set, parse_options, split_mode


def main(arguments: list[str]) -> int:
    """Runs the driver; the exit status."""
    mode = next((mode for mode in Mode if [mode.value] == arguments[:1]), Mode.ALL)
    options = program.read(flag_set(mode), arguments, lambda words: parse_options(*split_mode(words)))
    if isinstance(options, int):
        return options
    program.prepare(options.verbosity)
    from sandbox.standins.ebs_csi_driver.driver import Driver

    try:
        return Driver(options).run()
    except (OSError, ValueError) as error:
        logs.error("Failed to run driver", err=error)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
