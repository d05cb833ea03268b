"""The kinds of sandbox that lanes are: tasks as processes, or the stack of a real account in containers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox.docker import stack as docker_stack
from sandbox.docker.store import of_sandbox
from sandbox.settings import SandboxSettings
from tools.faults.model import Fault

DOCKER_STACK: Final = "faults"
# A real account waits a minute before it calls a lost client's MySQL stopped; every fault of an instance would.
_STOP_AFTER: Final = re.compile(r"(?m)^(\s+stopAfterDisconnect: ).*$")
_STOP_AFTER_S: Final = 20


@dataclass(frozen=True)
class Kind:
    """Whether tasks run in containers, and the folder of official parts, if any."""

    docker: bool = False
    official: Path | None = None

    @property
    def stack(self) -> str:
        """The stack that lanes deploy: one whose file `up` does not write anew, since faults change settings in it."""
        return DOCKER_STACK if self.docker else "dev"

    def up(self) -> list[str]:
        """The words of `python -m sandbox` that start such a sandbox."""
        official = ["--official", str(self.official)] if self.official else []
        return ["up", *(["--docker"] if self.docker else []), *official]

    def options(self) -> list[str]:
        """The same as options of `python -m tools.faults`."""
        return self.up()[1:]

    def write_stack(self, project: Path, settings: SandboxSettings) -> None:
        """Writes the file of the stack into a lane's copy of the project, where it is not a committed one."""
        if not self.docker:
            return
        example = docker_stack.EXAMPLE.read_text(encoding="utf-8")
        text = docker_stack.render(example, settings, of_sandbox(settings, self.official).tag)
        text, changed = _STOP_AFTER.subn(rf"\g<1>{_STOP_AFTER_S}s", text)
        assert changed == 1, f"{docker_stack.EXAMPLE.name} sets stopAfterDisconnect {changed} times"
        (project / f"Pulumi.{self.stack}.yaml").write_text(text, encoding="utf-8")

    def takes(self, fault: Fault) -> bool:
        """Whether the fault can be made on such a sandbox."""
        return not fault.cannot(self.docker)

    def left_out(self, faults: Sequence[Fault]) -> list[str]:
        """What is said of the faults that cannot be made on such a sandbox: each with the reason."""
        return [f"left out: {one.name}: {one.cannot(self.docker)}" for one in faults if not self.takes(one)]
