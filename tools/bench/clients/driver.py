"""Another version of the driver, and one that does not start on one client."""

from __future__ import annotations

from typing import Final

import yaml

from tools.faults.driver_versions import install
from tools.faults.lane import CLIENTS, Lane

NEW: Final = "v1.50.0"
BROKEN: Final = "v1.51.0"
_ROLLED_BACK: Final = 5
_TIMEOUT_S: Final = 900.0


def _upgrade(lane: Lane, version: str) -> tuple[int, str]:
    words = ("upgrade-driver", version, "--node-timeout", "60s", "--yes")
    done = lane.stack.run(lane.stack.python, "-m", "operate", *words, timeout_s=_TIMEOUT_S)
    return done.returncode, done.stdout + done.stderr


def _await_agreement(lane: Lane, version: str) -> None:
    """Settings and cluster have this version, and an update has nothing to do."""
    lane.await_plugins()
    assert f"version: {version}" in lane.stack_file.read_text(encoding="utf-8")
    preview = lane.pulumi("preview", "--expect-no-changes")
    assert preview.returncode == 0, preview.stdout + preview.stderr


def upgrade(lane: Lane) -> float:
    """Every client has the new version."""
    install(lane, NEW, CLIENTS)
    code, said = _upgrade(lane, NEW)
    assert code == 0, said
    _await_agreement(lane, NEW)
    return -1.0


def rollback(lane: Lane) -> float:
    """One client lacks the image: all have the version before again."""
    plugins = yaml.safe_load(lane.stack_file.read_text(encoding="utf-8"))["config"]["nomad-stateful:plugins"]
    install(lane, BROKEN, CLIENTS[:-1])
    code, said = _upgrade(lane, BROKEN)
    assert code == _ROLLED_BACK, said
    _await_agreement(lane, plugins[0]["version"])
    return -1.0
