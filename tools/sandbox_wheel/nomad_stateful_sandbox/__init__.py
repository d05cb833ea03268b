"""The commands of `nomad-stateful sandbox`: nomad-stateful finds this package by its entry point."""

import sys
from pathlib import Path

# Names like `sandbox` and `tools` are only for the processes that need them.
sys.path.insert(0, str(Path(__file__).with_name("code")))

from sandbox.__main__ import add_commands, run

__all__ = ["add_commands", "run"]
