"""`python -m tools.toolchain [actionlint|judge]`: provide everything, or that program alone, and print where it is."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from tools.packages import PackageError
from tools.toolchain import progress
from tools.toolchain.errors import ToolchainError
from tools.toolchain.pins import ACTIONLINT, JUDGE
from tools.toolchain.provide import ensure, ensure_built

_ALONE = {component.name: component for component in (ACTIONLINT, JUDGE)}


def main() -> int:
    """Exit code 0 when the toolchain is there, 1 with one message when it cannot be."""
    # Leaving by an exception ends the go command with us and removes what is half made.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        alone = _ALONE.get(" ".join(sys.argv[1:]))
        place = ensure_built(alone) if alone else _everything()
    except (PackageError, ToolchainError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; run it again to go on", file=sys.stderr)
        return 130
    print(place)
    return 0


def _everything() -> Path:
    toolchain = ensure()
    progress.say(toolchain.said())
    return toolchain.bin_dir


if __name__ == "__main__":
    sys.exit(main())
