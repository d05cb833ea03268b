"""`python -m tests.nomad_matrix NOMAD...`: the stack's whole life on each version of Nomad, and what became of it.

Each NOMAD is the path of a program, or a version that tools/toolchain has pins for.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence

from sandbox.settings import PROJECT
from tools.packages import PackageError
from tools.toolchain import ToolchainError, ensure
from tools.toolchain.errors import UnreachableError
from tools.toolchain.onpath import version_of
from tools.toolchain.provide import NOMAD_VARIABLE

STORY = sorted(str(path) for path in PROJECT.glob("tests/sandbox/test_stack*.py"))
"""Up, no-change previews, verify, what dies, a changed registration, destroy, nothing left; those of a night too."""


def main(nomads: Sequence[str]) -> int:
    """Runs the story on each; 1 when one of them fails or is none."""
    lines, failed = [], False
    for nomad in nomads:
        started, left_out = time.monotonic(), False
        os.environ[NOMAD_VARIABLE] = nomad
        try:
            version = str(version_of(ensure().nomad))
        except UnreachableError as error:
            # In CI each version has to be tried; elsewhere a machine may have no way to the publisher.
            version, passed = f"{nomad} cannot be had here: {error.value}", "CI" not in os.environ
            left_out = passed
        except (ToolchainError, PackageError) as error:
            version, passed = str(error), False
        else:
            print(f"\n==> Nomad {version} ({nomad})", flush=True)
            # A test that is left out proves nothing: as in CI.
            env = {**os.environ, "CI": "true"}
            command = [sys.executable, "-m", "pytest", "-m", "nightly or not nightly", *STORY]
            passed = subprocess.run(command, cwd=PROJECT, env=env, check=False).returncode == 0
        failed = failed or not passed
        verdict = "left out" if left_out else "passed" if passed else "FAILED"
        lines.append(f"{verdict:8} {time.monotonic() - started:5.0f} s  {version}")
    print("\n" + "\n".join(lines))
    return 1 if failed or not lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
