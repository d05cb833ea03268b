"""This project's program on official Pulumi plugins, in the sandbox that everyone else has the stand-ins in."""

from __future__ import annotations

import shutil
from pathlib import Path

from sandbox.stack import plugin_home
from sandbox.stack.environment import pulumi_home
from tools.bench.pulumi import Ours
from tools.bench.rig import Rig
from tools.toolchain.official import take


class OnOfficialPlugins(Ours):
    """Ours with those official plugins that a folder of release archives has; the others are the stand-ins."""

    def __init__(self, rig: Rig, archives: Path) -> None:
        super().__init__(rig, "official")
        home = rig.running.project / ".official-home"
        _copy_home(pulumi_home(rig.settings), home, archives)
        self.more_env = {"PULUMI_HOME": str(home)}


def _copy_home(home: Path, copy: Path, archives: Path) -> None:
    """Copies PULUMI_HOME, with the official plugins in place. Raises ToolchainError."""
    shutil.copytree(home, copy, symlinks=True, ignore=shutil.ignore_patterns("*.sock"))
    for plugin in plugin_home.plugins():
        if program := take(archives, plugin.program, plugin.version):
            place = copy / "plugins" / plugin.folder
            shutil.rmtree(place)
            place.mkdir()
            (place / plugin.program).symlink_to(program)
