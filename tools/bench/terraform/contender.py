"""Terraform for policy and volumes, the floor for the rest: the least that a Terraform way can take."""

from __future__ import annotations

import json
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.bench.contender import Failed
from tools.bench.floor import Floor
from tools.bench.rig import Rig
from tools.bench.wanted import Wanted

_TIMEOUT_S = 240.0


class Terraform(Floor):
    """The jobs are submitted while terraform applies, as nothing stands in the way of that."""

    name = "terraform"

    def __init__(self, rig: Rig, wanted: Wanted, nomad: str, plugins: Path) -> None:
        super().__init__(rig, wanted, nomad)
        self._folder = rig.running.project / "tools/bench/terraform"
        # Both would lead terraform out: to its registry, and to another place for its providers.
        self._env = {key: value for key, value in rig.running.env.items() if not key.startswith("TF_")}
        self._env |= {"CHECKPOINT_DISABLE": "1", "TF_VAR_wanted": str(self._folder / "wanted.json")}
        wanted.save(self._folder / "wanted.json")
        self._call("init", f"-plugin-dir={plugins}")

    def forget(self) -> None:
        """Its state."""
        for path in self._folder.glob("terraform.tfstate*"):
            path.unlink()

    def _make_cloud(self, pool: ThreadPoolExecutor) -> None:
        del pool
        self._call("apply", "-auto-approve")
        self._volumes = json.loads(self._call("output", "-json", "volumes"))

    def _delete_cloud(self) -> None:
        self._call("destroy", "-auto-approve")

    def _call(self, command: str, *words: str) -> str:
        program = shutil.which("terraform")
        if program is None:
            raise Failed("there is no terraform on PATH")
        options = [] if command == "output" else ["-input=false"]
        try:
            done = subprocess.run(
                [program, command, "-no-color", *options, *words],
                cwd=self._folder,
                env=self._env,
                capture_output=True,
                text=True,
                check=False,
                timeout=_TIMEOUT_S,
            )
        except subprocess.TimeoutExpired:
            raise Failed(f"terraform {command} not finished after {_TIMEOUT_S:.0f} s") from None
        if done.returncode != 0:
            raise Failed(f"terraform {command} failed: {' '.join(done.stderr.split())[:160]}")
        return done.stdout
