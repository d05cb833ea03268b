"""`python -m sandbox.cloud`: runs the daemon in the foreground; its log goes to stderr."""

from __future__ import annotations

import logging
import sys

from sandbox.cloud.daemon import serve
from sandbox.settings import SandboxError, load_settings
from tools.packages import PackageError


def main() -> int:
    """Serves until it is told to stop."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    try:
        serve(load_settings())
    except (SandboxError, PackageError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
