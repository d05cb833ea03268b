"""`python -m sandbox.standins.democratic_csi [flags]`: democratic-csi's command line."""

from __future__ import annotations

import sys

from sandbox.standins.csi import logs, program
from sandbox.standins.democratic_csi.options import FLAGS, Options, parse


def main(arguments: list[str]) -> int:
    """Runs the driver; the exit status."""
    options = program.read(FLAGS, arguments, parse)
    if isinstance(options, int):
        return options
    program.prepare(options.verbosity)
    return _serve(options)


def _serve(options: Options) -> int:
    from sandbox.standins.democratic_csi.config import ConfigError, load
    from sandbox.standins.democratic_csi.wiring import services

    try:
        config = load(options.config_file)
        made, close = services(options, config)
    except (ConfigError, OSError) as error:
        logs.error("Failed to run driver", err=error)
        return 1
    logs.info("initializing csi driver", driver=config.driver, name=options.csi_name, modes=",".join(options.modes))
    try:
        return program.serve(options.endpoint, made)
    finally:
        close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
